/** How much is measured; by default as much as the figures in the documents are made of. */
export interface BenchSettings {
  /** Runs of each measurement, ours and the floor's by turns. */
  readonly runs: number;
  /** Of one run. */
  readonly seconds: number;
  readonly networks: number;
  /** Names of scenarios; all where none is given. */
  readonly only: readonly string[];
}

export function settingsFrom(env: Readonly<Record<string, string | undefined>>): BenchSettings {
  return {
    runs: whole(env, 'BENCH_RUNS', 5),
    seconds: whole(env, 'BENCH_SECONDS', 4),
    networks: whole(env, 'BENCH_NETWORKS', 10_000),
    only: env.BENCH_ONLY ? env.BENCH_ONLY.split(',') : [],
  };
}

function whole(env: Readonly<Record<string, string | undefined>>, name: string, otherwise: number): number {
  const text = env[name];
  if (text === undefined || text === '') return otherwise;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new RangeError(`${name}: expected a whole number above 0, got ${text}`);
  return value;
}

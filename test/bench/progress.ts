const start = performance.now();

/** A line on standard error, with how long the benchmark has been going on. */
export function progress(text: string): void {
  const minutes = ((performance.now() - start) / 60_000).toFixed(1).padStart(5);
  process.stderr.write(`${minutes} min  ${text}\n`);
}

import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { METRICS_PORT, READINESS_PORT } from '../../../src/injection/envoy/files.ts';
import { REFUSAL } from '../../../src/injection/envoy/routed.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { freePorts } from '../../env/control-plane/free-ports.ts';
import { startSupervisor } from '../../env/control-plane/supervisor.ts';
import { eventually } from '../../env/eventually.ts';

/** The ports to which the rules of capture.sh send inbound and outbound connections of a pod. */
const INBOUND_PORT = 15006;
export const OUTBOUND_PORT = 15001;

/** A real Envoy that serves. */
export interface EnvoyProcess {
  /** By a port of the configuration: the address at which this one really listens. */
  url(port: number): string;
  readonly pid: number;
  /** The directory of its configuration. */
  readonly directory: string;
  /** What it has printed: its log, and the access log of the configurations that come with the operator. */
  readonly output: readonly string[];
  stop(): Promise<void>;
}

/**
 * Runs Envoy with a configuration whose ports, and other parts of its JSON, are replaced by what is free here. Resolves
 * once it is ready, by its own word.
 */
export async function startEnvoy(
  program: string,
  configuration: JsonObject,
  replace: Readonly<Record<string, string>> = {},
): Promise<EnvoyProcess> {
  const own = [
    ...[80, READINESS_PORT, METRICS_PORT, 9901],
    ...[INBOUND_PORT, OUTBOUND_PORT, Number(REFUSAL.split(':')[1])],
  ];
  const free = await freePorts(own.length);
  const url = (port: number) => `http://127.0.0.1:${free[own.indexOf(port)]}`;
  let text = JSON.stringify(configuration);
  for (const port of own)
    text = text.replaceAll(`"port_value":${port}}`, `"port_value":${new URL(url(port)).port}}`);
  for (const [from, to] of Object.entries(replace)) text = text.replaceAll(from, to);
  const supervisor = await startSupervisor();
  try {
    const directory = await supervisor.makeDirectory(join(tmpdir(), 'envoy-initializer-'));
    const file = join(directory, 'envoy.json');
    await writeFile(file, text.replaceAll('"/etc/envoy/..data"', JSON.stringify(join(directory, '..data'))));
    const output: string[] = [];
    const { pid } = await supervisor.start({
      name: 'envoy',
      command: program,
      // As the template of 2018 writes them: a flag and its value in one string.
      args: ['--concurrency 1', `--config-path ${file}`, '--mode serve', '--disable-hot-restart'],
      output: { onLine: (line) => output.push(line) },
    });
    await eventually('Envoy is ready', async () => (await fetch(`${url(READINESS_PORT)}/ready`)).ok);
    return { url, pid, directory, output, stop: () => supervisor.stop() };
  } catch (err) {
    await supervisor.stop();
    throw err;
  }
}

import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { NO_ROUTES, ROUTES_DIRECTORY, ROUTES_FILE } from '../../injection/envoy/routed.ts';
import { UsageError } from '../../kube/util/usage-error.ts';
import { type TextDiagnostic, textError } from '../../util/diagnostic.ts';
import { parseYaml } from '../../util/yaml.ts';

interface Validation {
  readonly faults: readonly TextDiagnostic[];
  /** The version of the Envoy that validated; undefined without one. */
  readonly version?: string;
}

/** Loading a configuration takes a fraction of a second, or longer if Envoy resolves names of hosts. */
const TIMEOUT_MS = 30_000;

/**
 * Validates a bootstrap with the `envoy` on the PATH. Directories of runtime layers and of routes exist only in the pod:
 * one without weights and routes replaces them. Rejects with a UsageError if Envoy
 * does not end by itself in time.
 */
export async function validateWithEnvoy(source: string, text: string): Promise<Validation> {
  const version = /\/(\d+\.\d+\.\d+)[^/]*\//.exec((await run(['--version']))?.stdout ?? '')?.[1];
  if (version === undefined) return { faults: [] };
  const directory = await mkdtemp(join(tmpdir(), 'envoy-initializer-lint-'));
  const interrupted = () => {
    rmSync(directory, { recursive: true, force: true });
    // This listener is gone, so that this ends the process.
    process.kill(process.pid, 'SIGINT');
  };
  process.once('SIGINT', interrupted);
  try {
    const file = join(directory, `bootstrap${extname(source)}`);
    await writeFile(join(directory, ROUTES_FILE), NO_ROUTES);
    await writeFile(
      file,
      text
        .replaceAll(/("?symlink_?[rR]oot"?\s*:\s*)("[^"]*"|[^\s,}]+)/g, `$1"${directory}"`)
        .replaceAll(ROUTES_DIRECTORY, directory),
    );
    const result = await run(['--mode', 'validate', '--config-path', file, '--log-level', 'critical']);
    const message = result && result.code !== 0 ? reasonOf(result.stderr) : undefined;
    if (message === undefined) return { faults: [], version };
    return { faults: [faultOf(source, text, version, message)], version };
  } finally {
    process.off('SIGINT', interrupted);
    await rm(directory, { recursive: true, force: true });
  }
}

/** Envoy's reason without the prefix of the log, as one line. */
function reasonOf(stderr: string): string {
  const reason = /error initializing configuration '[^']*': ([\s\S]*)/.exec(stderr)?.[1] ?? stderr;
  return reason
    .replace(/\): \{[\s\S]*/, ')')
    .trim()
    .replaceAll(/\s+/g, ' ');
}

/** Line numbers in Envoy's messages refer to its own copy, so the path in the message finds the place. */
function faultOf(source: string, text: string, version: string, reason: string): TextDiagnostic {
  const path = / @ ([\w.[\]]+):/.exec(reason)?.[1] ?? '';
  const segments = path.split(/[.[\]]+/).filter((part) => part !== '');
  const parsed = parseYaml(text);
  const located = 'locate' in parsed ? parsed.locate(segments.map(toSegment)) : undefined;
  return textError(source, `Envoy ${version} refuses the configuration: ${reason}`, { path, ...located });
}

function toSegment(part: string): string | number {
  return /^\d+$/.test(part) ? Number(part) : part;
}

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Undefined if `envoy` does not exist. */
function run(args: readonly string[]): Promise<Run | undefined> {
  return new Promise((resolve, reject) => {
    execFile('envoy', args, { timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      if (error?.code === 'ENOENT') resolve(undefined);
      else if (error && typeof error.code !== 'number')
        reject(
          new UsageError(
            `cannot validate with the envoy on the PATH: ${error.killed ? `not done within ${TIMEOUT_MS / 1000} s` : `it ended by ${error.signal ?? error.code}`}: run it yourself, or take it off the PATH`,
            { cause: error },
          ),
        );
      else resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

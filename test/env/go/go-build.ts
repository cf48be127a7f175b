import type { Supervisor } from '../control-plane/supervisor.ts';
import type { Pin } from './pins.ts';

/** One binary to build. */
export interface GoBuild {
  readonly name: string;
  /** What to build: an import path, or a file of package main. */
  readonly package: string;
  readonly pin: Pin | undefined;
  /** Where to build. */
  readonly directory: string;
  /** Where Go may keep what it needs meanwhile, and the file that it is to write there. */
  readonly temporaryDirectory: string;
  readonly output: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Lines of Go's output that an error quotes. */
const QUOTED_LINES = 20;

/** Runs `go build` under a supervisor, so that it ends with us. Rejects with the end of its output where it fails. */
export async function goBuild(
  supervisor: Supervisor,
  build: GoBuild,
  onLine: (line: string) => void,
): Promise<void> {
  const lines: string[] = [];
  const process = await supervisor.start({
    name: `go build ${build.name}`,
    command: 'go',
    args: ['build', ...flags(build.pin), '-o', build.output, build.package],
    cwd: build.directory,
    env: {
      ...build.env,
      CGO_ENABLED: '0',
      // This machine's.
      GOOS: '',
      GOARCH: '',
      GOWORK: 'off',
      GOTMPDIR: build.temporaryDirectory,
    },
    // By SIGTERM it would first finish what it is compiling; its caches stand being killed.
    stopTimeoutMs: 0,
    output: {
      onLine: (line) => {
        lines.push(line);
        onLine(line);
      },
    },
  });
  const { code, signal } = await process.exited;
  if (code === 0) return;
  throw new Error(
    `go build of ${build.name} ended with ${signal ?? `code ${code}`}:\n${lines.slice(-QUOTED_LINES).join('\n')}`,
  );
}

/** Without its version a server calls itself v0.0.0-master, which kubectl refuses to parse. */
function flags(pin: Pin | undefined): string[] {
  const variables = ['k8s.io/component-base/version.gitVersion', 'k8s.io/client-go/pkg/version.gitVersion'];
  const values =
    pin?.module === 'k8s.io/kubernetes' ? variables.map((name) => `-X ${name}=${pin.version}`) : [];
  return ['-mod=readonly', '-trimpath', '-buildvcs=false', '-ldflags', ['-s -w', ...values].join(' ')];
}

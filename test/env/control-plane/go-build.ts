import type { Target } from './cache-directory.ts';
import type { PinnedModule } from './pinned-module.ts';
import type { Supervisor } from './supervisor.ts';

/** One binary to build. */
export interface GoBuild {
  readonly name: string;
  /** What to build: an import path, or a file of package main. */
  readonly package: string;
  /** The file to write. */
  readonly output: string;
  /** Where Go may keep what it needs meanwhile. */
  readonly temporaryDirectory: string;
  /** Where to build, and the version of Kubernetes that the program is to tell, if it is to tell one. */
  readonly module: Pick<PinnedModule, 'directory'> & Partial<PinnedModule>;
  readonly target: Target;
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
    args: ['build', ...flags(build.module), '-o', build.output, build.package],
    cwd: build.module.directory,
    env: {
      ...build.env,
      CGO_ENABLED: '0',
      GOOS: build.target.goos,
      GOARCH: build.target.goarch,
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
function flags({ kubernetesVersion }: GoBuild['module']): string[] {
  const variables = ['k8s.io/component-base/version.gitVersion', 'k8s.io/client-go/pkg/version.gitVersion'];
  const values =
    kubernetesVersion === undefined ? [] : variables.map((name) => `-X ${name}=${kubernetesVersion}`);
  return ['-mod=readonly', '-trimpath', '-buildvcs=false', '-ldflags', ['-s -w', ...values].join(' ')];
}

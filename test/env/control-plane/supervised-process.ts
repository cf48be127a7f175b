import type { ExitStatus } from './supervisor-protocol.ts';

/** A process to run under a supervisor. */
export interface ProcessSpec {
  /** Unique among the running processes of one supervisor. */
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  /** The whole environment; by default this program's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** A file to append stdout and stderr to, or what is called with each of their lines. By default both are dropped. */
  readonly output?: { readonly file: string } | { readonly onLine: (line: string) => void };
  /** Milliseconds it may take to end after SIGTERM, before SIGKILL, when the supervisor ends. By default 10 s. */
  readonly stopTimeoutMs?: number;
}

/** A process that runs, or ran, under a supervisor. */
export interface SupervisedProcess {
  readonly name: string;
  readonly pid: number;
  /** Resolves when it has ended, however it did; never rejects. */
  readonly exited: Promise<ExitStatus>;
  /** By default SIGTERM. Nothing happens where it has ended. */
  kill(signal?: NodeJS.Signals): void;
}

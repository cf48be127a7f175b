/** Where the output of a process goes: nowhere, appended to a file, or line by line to whoever started it. */
type OutputTo = 'nothing' | 'lines' | { readonly file: string };

/** Starts a process. The name is free again once it has exited. */
export interface StartCommand {
  readonly type: 'start';
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly output: OutputTo;
  /** How long it may take to end after SIGTERM, in milliseconds, before SIGKILL. */
  readonly stopTimeoutMs: number;
}

/** From a program to its supervisor, one JSON object a line. */
export type Command =
  | StartCommand
  | { readonly type: 'signal'; readonly name: string; readonly signal: NodeJS.Signals }
  | { readonly type: 'make-directory'; readonly prefix: string };

/** How a process ended: one of the two is set. */
export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What became of a process. */
export type ProcessReport =
  | { readonly type: 'started'; readonly name: string; readonly pid: number }
  | { readonly type: 'failed'; readonly name: string; readonly message: string }
  | ({ readonly type: 'exited'; readonly name: string } & ExitStatus)
  | { readonly type: 'line'; readonly name: string; readonly line: string };

/** From a supervisor to its program, one JSON object a line; directories in the order they were asked for. */
export type Report = ProcessReport | { readonly type: 'directory'; readonly path: string };

/** Where progress is written: stderr, or what a test passes. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const TERMINAL_MS = 1_000;
const LOG_MS = 30_000;
/** Back to the start of the line, and erase it. */
const ERASE_LINE = '\r\x1b[K';
const LINE_WIDTH = 79;

/**
 * Writes how long some work has taken so far, and what it last said that it does: on a terminal in one line that it
 * updates each second, elsewhere (a CI log) in a line each 30 s. A detail that is older than that is left out, since the
 * work has gone on.
 */
export async function withProgress<T>(
  stream: ProgressStream,
  label: string,
  work: (detail: (text: string) => void) => Promise<T>,
): Promise<T> {
  const began = performance.now();
  let doing = '';
  const tell = (line: string) => {
    stream.write(stream.isTTY ? `${ERASE_LINE}${line.slice(0, LINE_WIDTH)}` : `${line}\n`);
  };
  const elapsed = () => `${Math.round((performance.now() - began) / 1_000)} s`;
  const tick = () => {
    tell(`${label}: ${elapsed()}${doing === '' ? '' : ` (${doing})`}`);
    doing = '';
  };
  tell(label);
  const timer = setInterval(tick, stream.isTTY ? TERMINAL_MS : LOG_MS);
  let outcome = 'failed after';
  try {
    const result = await work((text) => {
      doing = text;
    });
    outcome = 'done in';
    return result;
  } finally {
    clearInterval(timer);
    tell(`${label}: ${outcome} ${elapsed()}`);
    if (stream.isTTY) stream.write('\n');
  }
}

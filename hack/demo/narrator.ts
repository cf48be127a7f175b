/** What one command printed, and how it ended. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** Tells a demo on standard output: headings, commands with what they printed, and claims with whether they hold. */
export class Narrator {
  #claims = 0;
  readonly #broken: string[] = [];
  readonly #write: (text: string) => void;
  readonly #color: boolean;

  constructor(write: (text: string) => void, color: boolean) {
    this.#write = write;
    this.#color = color;
  }

  /** The claims that did not hold. */
  get broken(): readonly string[] {
    return this.#broken;
  }

  get claims(): number {
    return this.#claims;
  }

  heading(text: string): void {
    this.#write(`\n${this.#paint('1', `▸ ${text}`)}\n`);
  }

  say(text: string): void {
    this.#write(`${indent(text)}\n`);
  }

  command(line: string, { stdout, stderr }: CommandResult): void {
    this.#write(`${indent(this.#paint('36', `$ ${line}`))}\n`);
    for (const text of [stdout, stderr]) {
      if (text.trim() !== '') this.#write(`${indent(text.trimEnd())}\n`);
    }
  }

  /** A claim is a sentence; `detail` is what was found in place of it. */
  claim(sentence: string, holds: boolean, detail = ''): void {
    this.#claims++;
    if (!holds) this.#broken.push(sentence);
    const mark = holds ? this.#paint('32', '✓') : this.#paint('31', '✗');
    this.#write(`${indent(`${mark} ${sentence}${holds || detail === '' ? '' : `\n  got: ${detail}`}`)}\n`);
  }

  #paint(code: string, text: string): string {
    return this.#color ? `\x1b[${code}m${text}\x1b[0m` : text;
  }
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}

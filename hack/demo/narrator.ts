import { type InspectColor, styleText } from 'node:util';

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
    this.#write(`\n${this.#paint('bold', `▸ ${text}`)}\n`);
  }

  say(text: string): void {
    this.#write(`${indent(text)}\n`);
  }

  command(line: string, ...printed: readonly string[]): void {
    this.#write(`${indent(this.#paint('cyan', `$ ${line}`))}\n`);
    for (const text of printed) {
      if (text.trim() !== '') this.#write(`${indent(text.trimEnd())}\n`);
    }
  }

  /** A claim is a sentence; `detail` is what was found in place of it. */
  claim(sentence: string, holds: boolean, detail = ''): void {
    this.#claims++;
    if (!holds) this.#broken.push(sentence);
    const mark = holds ? this.#paint('green', '✓') : this.#paint('red', '✗');
    this.#write(`${indent(`${mark} ${sentence}${holds || detail === '' ? '' : `\n  got: ${detail}`}`)}\n`);
  }

  #paint(style: InspectColor, text: string): string {
    return this.#color ? styleText(style, text, { validateStream: false }) : text;
  }
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}

import { type InspectColor, styleText } from 'node:util';

const TO_TRY = [
  'kubectl run mine --image=busybox --labels=initializer.kubernetes.io/envoy=true   # gets a sidecar',
  'kubectl edit configmap envoy-initializer -n envoy-initializer                    # misspell a field: the API server refuses it',
  'kubectl apply -f deploy/examples/network-ping.yaml && kubectl get networks -o wide',
];

/** Prints a demo: headings, commands with their output, and claims with their result. */
export class Narrator {
  #claims = 0;
  readonly #broken: string[] = [];
  readonly #write: (text: string) => void;
  readonly #color: boolean;

  constructor(write: (text: string) => void, color: boolean) {
    this.#write = write;
    this.#color = color;
  }

  /** The claims that do not hold. */
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

  /** Prints a claim, and `detail` if it does not hold. */
  claim(sentence: string, holds: boolean, detail = ''): void {
    this.#claims++;
    if (!holds) this.#broken.push(sentence);
    const mark = holds ? this.#paint('green', '✓') : this.#paint('red', '✗');
    this.#write(`${indent(`${mark} ${sentence}${holds || detail === '' ? '' : `\n  got: ${detail}`}`)}\n`);
  }

  /** What to type next. @param exports how a shell reaches the cluster */
  toTry(exports: readonly string[]): void {
    this.heading('Try it. In another terminal, until Ctrl-C here:');
    this.#write(`\n${indent([...exports, ...TO_TRY, ''].join('\n'))}\n`);
  }

  #paint(style: InspectColor, text: string): string {
    return this.#color ? styleText(style, text, { validateStream: false }) : text;
  }
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}

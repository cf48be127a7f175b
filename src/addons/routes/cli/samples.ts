/** A sample of a metric: its labels and its value. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of a page of metrics, in the text format of Prometheus. */
export class Samples {
  readonly #byName = new Map<string, Sample[]>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined) continue;
      const samples = this.#byName.get(name) ?? [];
      samples.push({ labels: labelsIn(labels), value: Number(value) });
      this.#byName.set(name, samples);
    }
  }

  of(name: string): readonly Sample[] {
    return this.#byName.get(name) ?? [];
  }
}

function labelsIn(text: string): Readonly<Record<string, string>> {
  const pairs = text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
  return Object.fromEntries([...pairs].map(([, name = '', value = '']) => [name, value]));
}

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

  /** The samples of a metric with this label, or all of them. */
  of(name: string, label?: readonly [name: string, value: string]): readonly Sample[] {
    const samples = this.#byName.get(name) ?? [];
    return label ? samples.filter(({ labels }) => labels[label[0]] === label[1]) : samples;
  }

  /** The value of a metric without labels, or of its first series; undefined if it has none. */
  value(name: string, label?: readonly [name: string, value: string]): number | undefined {
    return this.of(name, label)[0]?.value;
  }
}

function labelsIn(text: string): Readonly<Record<string, string>> {
  const pairs = text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
  return Object.fromEntries([...pairs].map(([, name = '', value = '']) => [name, value]));
}

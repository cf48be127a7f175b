/** More different files than a large cluster has. Each takes up to 900 kB. */
const MOST = 16;

/** Keeps one copy of equal texts: most namespaces have the same file. */
export class SharedTexts {
  /** The last ones, newest first. */
  #texts: readonly string[] = [];

  /** A text that equals this one, the same for all. */
  share(text: string): string {
    const index = this.#texts.indexOf(text);
    const shared = this.#texts[index] ?? text;
    if (index !== 0) this.#texts = [shared, ...this.#texts.filter((_, at) => at !== index)].slice(0, MOST);
    return shared;
  }
}

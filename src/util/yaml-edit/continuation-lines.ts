/** A text to insert at a place. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
}

/**
 * The indentation that lines inside quotes and brackets lack. YAML 1.2 wants them deeper than their key; kubectl's
 * parser does not look at it.
 */
export function missingIndentation(text: string): readonly Insertion[] {
  return new LineScanner(text).scan();
}

/** Finds quoted text and flow collections in block style. Knows only as much of YAML as that needs. */
class LineScanner {
  readonly #text: string;
  readonly #found: Insertion[] = [];
  /** The columns of the keys and dashes around the current place. */
  #columns: number[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  scan(): readonly Insertion[] {
    for (let at = 0; at < this.#text.length; ) at = this.#line(at);
    return this.#found;
  }

  /** Scans the line that starts at a place, and what continues it. Returns the start of the next one. */
  #line(start: number): number {
    if (/^(---|\.\.\.)(?=\s|$)/.test(this.#text.slice(start, start + 4))) {
      this.#columns = [];
      return this.#values(start + 3, start);
    }
    return this.#values(start, start);
  }

  /** The keys of a line, and its value. */
  #values(from: number, lineStart: number): number {
    for (let at = from; ; ) {
      at = this.#skip(at, ' \t');
      const char = this.#text[at] ?? '\n';
      const column = at - lineStart;
      if (char === '\n' || char === '\r' || (char === '#' && this.#isBlank(at - 1)))
        return this.#nextLine(at);
      if ('-?:'.includes(char) && this.#isBlank(at + 1)) {
        this.#enter(column);
        at += 1;
        continue;
      }
      const value = this.#skipProperties(at);
      if (this.#isBlank(value)) {
        at = value;
        continue;
      }
      const end = this.#nodeEnd(value);
      const colon = this.#skip(end, ' \t');
      if (
        this.#text[colon] === ':' &&
        this.#isBlank(colon + 1) &&
        !this.#text.slice(at, end).includes('\n')
      ) {
        this.#enter(column);
        at = colon + 1;
        continue;
      }
      return this.#endOfValue(value, end);
    }
  }

  #endOfValue(start: number, end: number): number {
    const char = this.#text[start] ?? '';
    if (!'"\'[{'.includes(char)) return this.#deeperLines(this.#nextLine(end));
    this.#pad(start, end);
    return this.#nextLine(end);
  }

  /** Indents the lines of a value after the first. */
  #pad(start: number, end: number): void {
    const wanted = this.#margin() + 1;
    for (let at = this.#nextLine(start); at <= end && at < this.#text.length; at = this.#nextLine(at)) {
      const lacking = wanted - (this.#skip(at, ' ') - at);
      if (lacking > 0 && !this.#isLineEnd(this.#skip(at, ' \t'))) {
        this.#found.push({ at, text: ' '.repeat(lacking) });
      }
    }
  }

  /** Passes over the lines of a block scalar, or of plain text on several lines. */
  #deeperLines(from: number): number {
    let at = from;
    while (at < this.#text.length) {
      const content = this.#skip(at, ' ');
      if (content - at <= this.#margin() && !this.#isLineEnd(content)) break;
      at = this.#nextLine(content);
    }
    return at;
  }

  #enter(column: number): void {
    while (this.#margin() >= column) this.#columns.pop();
    this.#columns.push(column);
  }

  #margin(): number {
    return this.#columns.at(-1) ?? -1;
  }

  /** Passes over anchors and tags. */
  #skipProperties(from: number): number {
    let at = from;
    while ('&!'.includes(this.#text[at] ?? '\n')) {
      while (!this.#isBlank(at)) at += 1;
      at = this.#skip(at, ' \t');
    }
    return at;
  }

  #nodeEnd(start: number): number {
    const char = this.#text[start];
    if (char === '"' || char === "'") return this.#quotedEnd(start, char);
    if (char === '[' || char === '{') return this.#flowEnd(start);
    let at = start;
    while (!this.#isLineEnd(at) && !(this.#text[at] === ':' && this.#isBlank(at + 1))) at += 1;
    return at;
  }

  #quotedEnd(start: number, quote: string): number {
    for (let at = start + 1; at < this.#text.length; at += 1) {
      if (this.#text[at] === '\\' && quote === '"') at += 1;
      else if (this.#text[at] === quote && this.#text[at + 1] === quote && quote === "'") at += 1;
      else if (this.#text[at] === quote) return at + 1;
    }
    return this.#text.length;
  }

  #flowEnd(start: number): number {
    let depth = 0;
    let isStart = true;
    for (let at = start; at < this.#text.length; at += 1) {
      const char = this.#text[at] ?? '';
      if (isStart && (char === '"' || char === "'")) at = this.#quotedEnd(at, char) - 1;
      else if (char === '#' && this.#isBlank(at - 1)) at = this.#nextLine(at) - 1;
      else if (char === '[' || char === '{') depth += 1;
      else if (char === ']' || char === '}') depth -= 1;
      if (depth === 0) return at + 1;
      if (!this.#isBlank(at)) isStart = '[{,:"\''.includes(this.#text[at] ?? '');
    }
    return this.#text.length;
  }

  #skip(from: number, chars: string): number {
    let at = from;
    while (at < this.#text.length && chars.includes(this.#text[at] ?? '')) at += 1;
    return at;
  }

  #isBlank(at: number): boolean {
    return this.#isLineEnd(at) || ' \t'.includes(this.#text[at] ?? '');
  }

  #isLineEnd(at: number): boolean {
    return at < 0 || at >= this.#text.length || '\r\n'.includes(this.#text[at] ?? '');
  }

  #nextLine(from: number): number {
    return this.#text.indexOf('\n', from) + 1 || this.#text.length;
  }
}

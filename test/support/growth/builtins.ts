/** Steps inside functions of the language itself, which V8's own counts do not show. */
let steps = 0;

/** Characters that the engine reads in about the time of one step. */
const CHARACTERS = 16;

export function stepsInBuiltins(): number {
  return steps;
}

type Method = (this: unknown, ...args: readonly unknown[]) => unknown;
/** The steps of one call; `result` is what it returned. */
type Cost = (self: unknown, args: readonly unknown[], result: unknown) => number;

/**
 * Counts the work of the builtins that walk through a list, an object or a text, in this whole process. An object that is
 * spread (`{...object}`) is the one walk that cannot be counted.
 */
export function countBuiltins(): void {
  for (const method of ['includes', 'indexOf', 'lastIndexOf'] as const) {
    count(Array.prototype, method, (self, _args, found) => searched(lengthOf(self), found));
  }
  for (const method of [
    'join',
    'reverse',
    'toReversed',
    'sort',
    'toSorted',
    'with',
    'flat',
    'fill',
  ] as const) {
    count(Array.prototype, method, lengthOf);
  }
  for (const method of ['slice', 'concat', 'toSpliced'] as const) {
    count(Array.prototype, method, (_self, _args, result) => lengthOf(result));
  }
  // What is behind is moved, by the processor, many values at a time.
  for (const method of ['splice', 'shift', 'unshift'] as const) {
    count(Array.prototype, method, (self, args) => {
      const before = method === 'splice' ? Number(args[0]) : 0;
      return 1 + (lengthOf(self) - before) / CHARACTERS;
    });
  }
  for (const sample of [[], new Map(), new Set(), ''] as const) {
    count(Object.getPrototypeOf(sample[Symbol.iterator]()), 'next', () => 1);
  }
  for (const method of ['keys', 'values', 'entries', 'freeze', 'assign'] as const) {
    count(Object, method, (_self, args, result) => sizeOf(method === 'assign' ? args[1] : result));
  }
  for (const method of ['indexOf', 'lastIndexOf', 'includes'] as const) {
    count(String.prototype, method, (self, args, found) => {
      const from = Number(args[1] ?? (method === 'lastIndexOf' ? lengthOf(self) : 0));
      const end = method === 'lastIndexOf' ? 0 : lengthOf(self);
      return Math.abs((typeof found === 'number' && found >= 0 ? found : end) - from) / CHARACTERS;
    });
  }
  for (const method of [
    'split',
    'replaceAll',
    'replace',
    'trim',
    'trimEnd',
    'toLowerCase',
    'match',
  ] as const) {
    count(
      String.prototype,
      method,
      (self, _args, result) => (lengthOf(self) + lengthOf(result)) / CHARACTERS,
    );
  }
  count(JSON, 'parse', (_self, args) => lengthOf(args[0]) / CHARACTERS);
  count(JSON, 'stringify', (_self, _args, text) => lengthOf(text) / CHARACTERS);
}

function count(holder: object, name: string, cost: Cost): void {
  const original: unknown = Reflect.get(holder, name);
  if (typeof original !== 'function') throw new Error(`expected a method, got ${typeof original}: ${name}`);
  const counting: Method = function (...args) {
    const result: unknown = Reflect.apply(original, this, args);
    steps += cost(this, args, result);
    return result;
  };
  Object.defineProperty(holder, name, { value: counting, writable: true, configurable: true });
}

function searched(length: number, found: unknown): number {
  return typeof found === 'number' && found >= 0 ? found : length;
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return Array.isArray(value) ? value.length : 0;
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Reflect.ownKeys(value).length : 0;
}

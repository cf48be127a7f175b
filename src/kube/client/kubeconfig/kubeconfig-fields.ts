import { suggest } from '../../../util/suggest.ts';

/**
 * Reads the fields of one object of a kubeconfig, each with its type. Every method throws an Error that names the
 * field. An empty text or list counts as absent, as in client-go.
 */
export class Fields {
  readonly #where: string;
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #read = new Set<string>();

  constructor(where: string, value: unknown) {
    this.#where = where;
    this.#values = asRecord(value ?? {}, where);
  }

  text(name: string): string | undefined {
    return this.#optional(name, (value, where) => asText(value, where) || undefined);
  }

  flag(name: string): boolean {
    const flag = this.#optional(name, (value, where) =>
      typeof value === 'boolean' ? value : mistyped(where, 'true or false', value),
    );
    return flag ?? false;
  }

  texts(name: string): readonly string[] | undefined {
    return this.#optional(name, textsOf);
  }

  textsByName(name: string): Readonly<Record<string, readonly string[]>> | undefined {
    return this.#optional(name, (value, where) => {
      const entries = Object.entries(asRecord(value, where));
      return Object.fromEntries(entries.map(([key, item]) => [key, textsOf(item, `${where}.${key}`) ?? []]));
    });
  }

  textByName(name: string): Readonly<Record<string, string>> {
    const byName = this.#optional(name, (value, where) => {
      const entries = Object.entries(asRecord(value, where));
      return Object.fromEntries(entries.map(([key, item]) => [key, asText(item, `${where}.${key}`)]));
    });
    return byName ?? {};
  }

  /** The objects of a list. */
  list(name: string): readonly Fields[] {
    const items = this.#optional(name, (value, where) =>
      asList(value, where).map((item, index) => new Fields(`${where}[${index}]`, item)),
    );
    return items ?? [];
  }

  object(name: string): Fields | undefined {
    return this.#optional(name, (value, where) => new Fields(where, value));
  }

  value(name: string): unknown {
    return this.#optional(name, (value) => value);
  }

  /** @throws Error if the object has a field that was not read: no part of a credential is ignored silently. */
  end(): void {
    for (const name of Object.keys(this.#values)) {
      if (this.#read.has(name)) continue;
      const known = [...this.#read];
      const meant = suggest(name, known);
      const advice = meant === undefined ? `expected one of ${known.join(', ')}` : `did you mean ${meant}?`;
      throw new Error(`${this.#where}: unknown field ${JSON.stringify(name)}: ${advice}`);
    }
  }

  #optional<T>(name: string, read: (value: unknown, where: string) => T): T | undefined {
    this.#read.add(name);
    const value = this.#values[name] ?? undefined;
    return value === undefined ? undefined : read(value, `${this.#where}.${name}`);
  }
}

function textsOf(value: unknown, where: string): readonly string[] | undefined {
  const texts = asList(value, where).map((item, index) => asText(item, `${where}[${index}]`));
  return texts.length > 0 ? texts : undefined;
}

function asText(value: unknown, where: string): string {
  return typeof value === 'string' ? value : mistyped(where, 'a string', value);
}

function asList(value: unknown, where: string): readonly unknown[] {
  return Array.isArray(value) ? value : mistyped(where, 'a list', value);
}

function asRecord(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return mistyped(where, 'an object', value);
  return Object.fromEntries(Object.entries(value));
}

/** The error names the type alone: the value may be a secret. */
function mistyped(where: string, expected: string, value: unknown): never {
  throw new Error(
    `${where}: expected ${expected}, got ${Array.isArray(value) ? 'a list' : `a ${typeof value}`}`,
  );
}

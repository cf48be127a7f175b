import {
  boolYaml11Tag,
  defineScalarTag,
  dump,
  FAILSAFE_SCHEMA,
  mapTag,
  mergeTag,
  NOT_RESOLVED,
  nullYaml11Tag,
  seqTag,
  strTag,
  timestampTag,
} from 'js-yaml';
import type { JsonValue } from '../json.ts';

const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const LONE_SURROGATE = /\p{Surrogate}/gu;
const DIGITS = ['+', '-', '.', ...'0123456789'];

/** Of each object, the keys that merges gave it. */
const merged = new WeakMap<object, Set<string>>();

/** An object whose keys may be given twice. Unlike in YAML 1.1, a merge (`<<`) replaces the values of keys before it. */
const map: typeof mapTag = {
  ...mapTag,
  addPair: (object, key, value) =>
    typeof key === 'object' && key !== null
      ? 'a key must be a string, a number or a boolean'
      : mapTag.addPair(object, key, value),
  // The parser calls it only in merges.
  has: (object, key) => {
    const known = merged.get(object) ?? new Set();
    merged.set(object, known);
    const isKnown = known.has(String(key));
    known.add(String(key));
    return isKnown;
  },
};

/** Unknown tags: text stays text, and collections are read as if they had none. */
const unknownTags = ['!', 'tag:'].flatMap((tagName) =>
  [strTag, seqTag, map].map((tag) => ({ ...tag, tagName, matchByTagPrefix: true, identify: () => false })),
);

/**
 * YAML as kubectl reads it (sigs.k8s.io/yaml, a fork of go-yaml 2). Unlike in YAML 1.2, plain `yes` and `on` are true,
 * and 0644 is 420. Unlike in YAML 1.1, times and sexagesimal numbers stay text. Thus each decision is about the object
 * that kubectl would send to the API server.
 */
export const KUBECTL_SCHEMA = FAILSAFE_SCHEMA.withTags(
  nullYaml11Tag,
  boolYaml11Tag,
  defineScalarTag<number>('tag:yaml.org,2002:int', {
    implicit: true,
    implicitFirstChars: DIGITS,
    resolve: (text) => parseInteger(text.replaceAll('_', '')) ?? NOT_RESOLVED,
    identify: Number.isInteger,
  }),
  defineScalarTag<number>('tag:yaml.org,2002:float', {
    implicit: true,
    implicitFirstChars: DIGITS,
    resolve: (text) => {
      const plain = text.replaceAll('_', '');
      // Go reads what exceeds a float as text.
      return FLOAT.test(plain) && Number.isFinite(Number(plain)) ? Number(plain) : NOT_RESOLVED;
    },
    identify: (value) => typeof value === 'number',
  }),
  // Go has no half characters.
  { ...strTag, resolve: (text: string) => text.replace(LONE_SURROGATE, '\ufffd') },
  defineScalarTag<string>('tag:yaml.org,2002:binary', {
    resolve: (text) => decodeBase64(text) ?? NOT_RESOLVED,
    identify: () => false,
  }),
  map,
  mergeTag,
  ...unknownTags,
);

function decodeBase64(text: string): string | undefined {
  try {
    return new TextDecoder().decode(
      Uint8Array.from(atob(text.replaceAll(/\s/g, '')), (char) => char.charCodeAt(0)),
    );
  } catch {
    return undefined;
  }
}

/** Go's strconv.ParseInt with base 0: a leading 0 makes it octal. */
function parseInteger(text: string): number | undefined {
  const [, sign, digits = ''] =
    /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9][0-9]*)$/.exec(text) ?? [];
  if (sign === undefined || /^0[oO]$/.test(digits)) return undefined;
  const value = Number(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits);
  // A number that exceeds 64 bits is read again, as a decimal float.
  if (value > 2 ** 64) return undefined;
  return sign === '-' && value !== 0 ? -value : value;
}

/** Quotes text that kubectl would not read as text, and dates, which other YAML 1.1 parsers convert. */
const schema = KUBECTL_SCHEMA.withTags(timestampTag);

/** A value as YAML in block style, without the last newline. Strings are not folded. */
export function printBlock(value: JsonValue, seqNoIndent: boolean): string {
  return dump(value, { schema, lineWidth: -1, noRefs: true, seqNoIndent }).replace(/\n$/, '');
}

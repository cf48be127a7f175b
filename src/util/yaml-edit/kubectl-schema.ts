import {
  defineMappingTag,
  defineScalarTag,
  defineSequenceTag,
  FAILSAFE_SCHEMA,
  mergeTag,
  NOT_RESOLVED,
} from 'js-yaml';
import { isObject } from '../json.ts';

const NULL = /^(~|null|Null|NULL)?$/;
const TRUE = /^(y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const FALSE = /^(n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const LONE_SURROGATE = /\p{Surrogate}/gu;
const DIGITS = ['+', '-', '.', ...'0123456789'];

/**
 * YAML as kubectl reads it (sigs.k8s.io/yaml, a fork of go-yaml 2). Unlike in YAML 1.2, plain `yes` and `on` are true,
 * and 0644 is 420. Unlike in YAML 1.1, times and sexagesimal numbers stay text. Thus each decision is about the object
 * that kubectl would send to the API server.
 */
export const KUBECTL_SCHEMA = FAILSAFE_SCHEMA.withTags(
  defineScalarTag<null>('tag:yaml.org,2002:null', {
    implicit: true,
    implicitFirstChars: ['', '~', 'n', 'N'],
    resolve: (text) => (NULL.test(text) ? null : NOT_RESOLVED),
    identify: (value) => value === null,
    represent: () => 'null',
  }),
  defineScalarTag<boolean>('tag:yaml.org,2002:bool', {
    implicit: true,
    implicitFirstChars: [...'yYtToOnNfF'],
    resolve: (text) => TRUE.test(text) || (FALSE.test(text) ? false : NOT_RESOLVED),
    identify: (value) => typeof value === 'boolean',
  }),
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
  defineScalarTag<string>('tag:yaml.org,2002:str', {
    // Go has no half characters.
    resolve: (text) => text.replace(LONE_SURROGATE, '\ufffd'),
    identify: (value) => typeof value === 'string',
  }),
  defineScalarTag<string>('tag:yaml.org,2002:binary', {
    resolve: (text) => decodeBase64(text) ?? NOT_RESOLVED,
    identify: () => false,
  }),
  mapTag('tag:yaml.org,2002:map', isObject),
  mergeTag,
  // Unknown tags: text stays text, and collections are read as if they had none.
  ...['!', 'tag:'].flatMap((prefix) => [
    defineScalarTag<string>(prefix, {
      matchByTagPrefix: true,
      resolve: (text) => text,
      identify: () => false,
    }),
    defineSequenceTag<unknown[]>(prefix, {
      matchByTagPrefix: true,
      create: () => [],
      addItem: (list, item) => void list.push(item),
      identify: () => false,
    }),
    mapTag(prefix, () => false, true),
  ]),
);

/**
 * An object whose keys may be given twice. Unlike in YAML 1.1, a merge (`<<`) replaces the values of keys before it. The
 * parser calls `has` only in merges.
 */
function mapTag(name: string, identify: (value: unknown) => boolean, matchByTagPrefix = false) {
  const merged = new WeakMap<object, Set<string>>();
  return defineMappingTag<Record<string, unknown>>(name, {
    matchByTagPrefix,
    create: () => ({}),
    addPair: (object, key, value) => {
      if (typeof key === 'object' && key !== null) return 'a key must be text, a number or a truth value';
      const name = String(key);
      if (name !== '__proto__') object[name] = value;
      else
        Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
      return '';
    },
    has: (object, key) => {
      const known = merged.get(object) ?? new Set();
      merged.set(object, known);
      const isKnown = known.has(String(key));
      known.add(String(key));
      return isKnown;
    },
    keys: Object.keys,
    get: (object, key) => object[String(key)],
    identify,
    represent: (object) => new Map(Object.entries(object)),
  });
}

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

import { isArray, isObject, type JsonObject, type JsonValue, own, ownString } from '../../util/json.ts';
import {
  isCredential,
  isFlagOfSecret,
  REDACTED,
  redactText,
  redactValues,
  secretInWord,
} from './redact-text.ts';

/** Annotations that may be read: those of Kubernetes, and ours. Others may repeat whole objects, also packed. */
const READABLE = /(?:^|\.)(?:k8s|kubernetes|cncf)\.io\/(?!last-applied)/;
/** Maps and lists of headers and the like, whose every value may be secret. */
const SECRET_VALUES = /^(?:env|query|(?:query)?params|\w*headers?|cookies)$/i;
/** Fields that name the `value` beside them. */
const NAMES = ['name', 'key', 'header'] as const;
/** Shorter values of credentials occur by chance. */
const LEAST = 6;
/** Messages may cut a value: so many characters tell it. */
const PREFIX = 32;

/**
 * Hides what may be secret in the objects and texts of one report: data of Secrets, each value with a name beside it, as
 * of headers and environment variables, each value whose name looks like that of a credential, most annotations, and in
 * texts what has the form of a secret.
 */
export class Redactor {
  /** What was hidden in objects, by its first characters: messages and logs may repeat it. */
  readonly #known = new Map<string, string>();
  readonly #starts = new Set<string>();

  /** An object of the API without its secrets, and without managedFields, which tell nothing. */
  object(object: JsonObject): JsonObject {
    const redacted = this.#fields(object);
    if (ownString(object, 'kind') !== 'Secret') return redacted;
    const hidden = (['data', 'stringData'] as const).flatMap((field) => {
      const data = own(object, field);
      return isObject(data) ? [[field, this.#map(data, () => true)]] : [];
    });
    return { ...redacted, ...Object.fromEntries(hidden) };
  }

  /** Also without those of the templates that are the texts of its field `data`. */
  templates(object: JsonObject): JsonObject {
    const { data, ...rest } = object;
    if (!isObject(data)) return this.object(object);
    const texts = Object.entries(data).map(([key, item]): [string, JsonValue] => [
      key,
      typeof item === 'string' ? redactValues(item) : this.#value(item),
    ]);
    return { ...this.object(rest), data: Object.fromEntries(texts) };
  }

  /** A text, such as a log, whose lines may be JSON. */
  text(text: string): string {
    if (!/^\s*[[{]/m.test(text)) return redactText(text);
    const whole = this.#json(text);
    if (whole !== undefined) return whole;
    return redactText(
      text
        .split('\n')
        .map((line) => this.#json(line) ?? line)
        .join('\n'),
    );
  }

  /** The text without any value that was hidden in one of the objects, also if it is cut. */
  everywhere(text: string): string {
    if (this.#known.size === 0) return text;
    let [result, from] = ['', 0];
    for (let at = 0; at < text.length; at += 1) {
      const found = this.#starts.has(text.slice(at, at + LEAST)) ? this.#knownAt(text, at) : undefined;
      if (found === undefined) continue;
      let end = at;
      while (end < text.length && text[end] === found[end - at]) end += 1;
      // Another value may begin with the same characters.
      while (/[\w.~+/=-]/.test(text[end] ?? '')) end += 1;
      result += text.slice(from, at) + REDACTED;
      from = end;
      at = end - 1;
    }
    return result + text.slice(from);
  }

  #knownAt(text: string, at: number): string | undefined {
    for (let length = PREFIX; length >= LEAST; length -= 1) {
      const found = this.#known.get(text.slice(at, at + length));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #json(text: string): string | undefined {
    if (!/^\s*[[{]/.test(text)) return undefined;
    try {
      const value: JsonValue = JSON.parse(text);
      return JSON.stringify(this.#value(value), null, text.includes('\n') ? 2 : 0);
    } catch {
      return undefined;
    }
  }

  #value(value: JsonValue, isEnv = false): JsonValue {
    if (typeof value === 'string')
      return this.#json(value) ?? (value.includes('\n') ? redactValues(value) : redactText(value));
    if (isArray(value))
      return value.map((item, index) => {
        if (typeof item !== 'string') return this.#value(item, isEnv);
        if (isFlagOfSecret(value[index - 1]) && !item.startsWith('-')) return this.#hide(item);
        const at = secretInWord(item);
        return at < 0 ? this.#value(item) : `${item.slice(0, at)}${this.#hide(item.slice(at))}`;
      });
    return isObject(value) ? this.#fields(value, isEnv) : value;
  }

  #fields(object: JsonObject, isEnv = false): JsonObject {
    const { managedFields: _, ...fields } = object;
    const name = NAMES.map((key) => ownString(object, key)).find((found) => found !== undefined);
    if (name === undefined) return this.#map(fields, isCredential);
    const named = isCredential(name);
    const isSecret = (key: string) => isCredential(key) || key === 'value' || (named && key === 'values');
    // Environment variables hold what is everywhere, such as the name of the namespace.
    return this.#map(fields, isSecret, named || !isEnv);
  }

  /** The fields of an object, those with secret values hidden. */
  #map(fields: JsonObject, isSecret: (key: string) => boolean, isTold = true): JsonObject {
    const entries = Object.entries(fields).map(([key, item]): [string, JsonValue] => {
      if (isSecret(key)) return [key, this.#hide(item, isTold)];
      if (key === 'annotations' && isObject(item))
        return [key, this.#map(item, (each) => !READABLE.test(each) || isCredential(each))];
      if (!SECRET_VALUES.test(key)) return [key, this.#value(item)];
      const isEnv = key.toLowerCase() === 'env';
      return [key, isObject(item) ? this.#map(item, () => true, !isEnv) : this.#pairs(item, isEnv)];
    });
    return Object.fromEntries(entries);
  }

  /** Headers, each in a text such as `name: value`. */
  #pairs(item: JsonValue, isEnv: boolean): JsonValue {
    if (!isArray(item)) return this.#value(item);
    return item.map((each) => {
      const [, name, value] = (typeof each === 'string' && /^([\w-]+\s*[:=]\s*)(.+)$/s.exec(each)) || [];
      return value === undefined ? this.#value(each, isEnv) : `${name}${this.#hide(value, !isEnv)}`;
    });
  }

  /**
   * Texts and numbers disappear; what only refers to a secret, such as a secretKeyRef, stays. `isTold`: messages may
   * repeat it.
   */
  #hide(value: JsonValue, isTold = true): JsonValue {
    if (isArray(value)) return value.map((item) => this.#hide(item, isTold));
    if (isObject(value)) return this.#fields(value);
    if (isTold && typeof value === 'string' && value.length >= LEAST) {
      this.#starts.add(value.slice(0, LEAST));
      this.#known.set(value.slice(0, PREFIX), value);
    }
    return value === null || typeof value === 'boolean' ? value : REDACTED;
  }
}

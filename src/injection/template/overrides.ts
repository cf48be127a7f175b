import { quoteText } from '../../util/clip.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own, ownString } from '../../util/json.ts';
import { suggest } from '../../util/suggest.ts';
import { type Keys, knownAnnotations, OVERRIDES, type Override } from '../keys.ts';
import type { Pod } from '../podspec/pod.ts';
import { parseQuantity } from '../podspec/quantity.ts';

/** How an annotation of a pod changes the sidecar that it gets. */
interface OverrideKind {
  readonly valid: (value: string) => boolean;
  /** What to write instead of an invalid value. */
  readonly hint: string;
  /** The container with the value; undefined if it has no place for it. */
  readonly apply: (container: JsonObject, value: string) => JsonObject | undefined;
}

const LOG_LEVELS: readonly string[] = ['trace', 'debug', 'info', 'warning', 'error', 'critical', 'off'];

const KINDS: Readonly<Record<Override, OverrideKind>> = {
  image: {
    valid: (value) => /^[^\s]+$/.test(value) && value !== 'auto',
    hint: 'an image such as envoyproxy/envoy:v1.36.0',
    apply: (container, image) => ({ ...container, image }),
  },
  'cpu-request': quantity('requests', 'cpu', '100m'),
  'cpu-limit': quantity('limits', 'cpu', '500m'),
  'memory-request': quantity('requests', 'memory', '64Mi'),
  'memory-limit': quantity('limits', 'memory', '256Mi'),
  'log-level': {
    valid: (value) => LOG_LEVELS.includes(value),
    hint: `one of ${LOG_LEVELS.join(', ')}`,
    apply: (container, value) => withFlag(container, ['--log-level', '-l'], value),
  },
  concurrency: {
    valid: (value) => /^[0-9]{1,3}$/.test(value),
    hint: 'a number of threads, or 0 for one per CPU',
    apply: (container, value) => withFlag(container, ['--concurrency'], value),
  },
};

/** A container with the overrides of a pod. */
interface Overridden {
  readonly container: JsonObject;
  /** What is wrong with the annotations that were ignored. */
  readonly ignored: readonly string[];
}

/** More unknown annotations are not named. */
const MAX_UNKNOWN = 5;

/** What is wrong with the annotations that look like overrides and are none, unless the template reads them. */
function unknownOverrides(annotations: JsonObject, template: unknown, keys: Keys): readonly string[] {
  const known = knownAnnotations(keys);
  const unknown = Object.keys(annotations)
    .filter((key) => key.startsWith(`${keys.optIn}-`) && !known.includes(key))
    .slice(0, MAX_UNKNOWN);
  if (unknown.length === 0) return [];
  const text = JSON.stringify(template);
  return unknown
    .filter((key) => !text.includes(key))
    .map((key) => {
      const prefix = `${keys.optIn}-`;
      const name = suggest(
        key.slice(prefix.length),
        known.map((each) => each.slice(prefix.length)),
      );
      return `annotation ${key} is unknown: ${name === undefined ? 'remove it' : `did you mean ${prefix}${name}?`}`;
    });
}

/** Applies the annotations of a pod that change its sidecar. Ignores invalid and unknown ones. */
export function applyOverrides(
  container: JsonObject,
  pod: Pod,
  { keys, template }: { readonly keys: Keys; readonly template: unknown },
): Overridden {
  const annotations = own(own(pod, 'metadata'), 'annotations');
  if (!isObject(annotations)) return { container, ignored: [] };
  const ignored = [...unknownOverrides(annotations, template, keys)];
  let changed = container;
  for (const name of OVERRIDES) {
    const key = keys.overrides[name];
    const value = ownString(annotations, key);
    if (value === undefined) continue;
    const { valid, hint, apply } = KINDS[name];
    const next = valid(value) ? apply(changed, value) : undefined;
    if (next) changed = next;
    else ignored.push(valid(value) ? noPlace(key) : notValid(key, value, hint));
  }
  return { container: changed, ignored };
}

function quantity(list: 'requests' | 'limits', resource: string, example: string): OverrideKind {
  return {
    valid: (value) => (parseQuantity(value) ?? -1n) >= 0n,
    hint: `a quantity such as ${example}`,
    apply: (container, value) => {
      const resources = (own(container, 'resources') ?? {}) as JsonObject;
      const amounts = (own(resources, list) ?? {}) as JsonObject;
      return { ...container, resources: { ...resources, [list]: { ...amounts, [resource]: value } } };
    },
  };
}

function notValid(key: string, value: string, hint: string): string {
  return `annotation ${key} is ${quoteText(value, 32)}: write ${hint}`;
}

function noPlace(key: string): string {
  return `annotation ${key}: the template's container has neither args nor command to add the flag to`;
}

/**
 * A container with a command-line flag set to a value. If the command or arguments have the flag in any form
 * (`--flag value` in one string or in two, or `--flag=value`), its value changes; else the arguments get the
 * flag. Undefined if the container has neither: new arguments would replace the image's own, unknown ones.
 */
export function withFlag(
  container: JsonObject,
  names: readonly string[],
  value: string,
): JsonObject | undefined {
  for (const field of ['args', 'command']) {
    const changed = replaceFlag(own(container, field), names, value);
    if (changed) return { ...container, [field]: changed };
  }
  const args = own(container, 'args');
  if (!isArray(args) && !isArray(own(container, 'command'))) return undefined;
  const [name = ''] = names;
  return { ...container, args: [...(isArray(args) ? args : []), name, value] };
}

function replaceFlag(
  list: JsonValue | undefined,
  names: readonly string[],
  value: string,
): readonly JsonValue[] | undefined {
  if (!isArray(list)) return undefined;
  for (const [index, item] of list.entries()) {
    for (const name of names) {
      if (item === name) return [...list.slice(0, index + 1), value, ...list.slice(index + 2)];
      const separator = String(item).charAt(name.length);
      if (String(item).startsWith(name) && (separator === ' ' || separator === '=')) {
        return list.with(index, `${name}${separator}${value}`);
      }
    }
  }
  return undefined;
}

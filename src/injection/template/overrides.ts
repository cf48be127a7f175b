import { quoteText } from '../../util/clip.ts';
import { isObject, type JsonObject, own, ownString } from '../../util/json.ts';
import { suggest } from '../../util/suggest.ts';
import { type Keys, knownAnnotations, OVERRIDES, type Override } from '../keys.ts';
import type { Pod } from '../podspec/pod.ts';
import { parseQuantity } from '../podspec/quantity.ts';

/** How an annotation of a pod changes the sidecar that it gets. */
interface OverrideKind {
  readonly valid: (value: string) => boolean;
  /** What to write instead of an invalid value. */
  readonly hint: string;
  readonly apply: (container: JsonObject, value: string) => JsonObject;
}

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
    if (valid(value)) changed = apply(changed, value);
    else ignored.push(`annotation ${key} is ${quoteText(value, 32)}: write ${hint}`);
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

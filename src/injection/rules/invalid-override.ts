import { knownAnnotations } from '../keys.ts';
import { celHas, celString, celStrings } from '../podspec/cel.ts';
import type { MergeRule } from '../rule.ts';

export const invalidOverride = {
  reason: 'invalid-override',
  help: "the pod's changes to the sidecar are invalid; an invalid or unknown annotation alone is ignored",
  warn: true,
  // Also unknown overrides: the webhook warns of them.
  cel: ({ keys }) => {
    const isOverride = `key.startsWith(${celString(`${keys.optIn}-`)})`;
    const others = knownAnnotations(keys).filter((key) => !Object.values(keys.overrides).includes(key));
    const exists = `object.metadata.annotations.exists(key, ${isOverride} && !(key in ${celStrings(others)}))`;
    return { unless: `${celHas('metadata.annotations')} && ${exists}` };
  },
} as const satisfies MergeRule;

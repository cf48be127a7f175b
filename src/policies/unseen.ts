import type { JsonObject } from '../json/json.ts';
import { celHasKey, celSaysTrue } from '../podspec/cel.ts';
import type { Keys } from '../sidecar/keys.ts';
import type { InjectionOptions } from '../sidecar/template/options.ts';

/**
 * A ValidatingAdmissionPolicy and its binding, for where no webhook stands behind the policies: who makes a pod that
 * asks for its sidecar and gets none is warned, or refused where conflicts are.
 */
export function unseenPolicy(
  keys: Keys,
  { onConflict }: InjectionOptions,
  matchConstraints: JsonObject,
): { readonly policy: JsonObject; readonly binding: JsonObject } {
  const message =
    'no sidecar: with no webhook, a pod gets it that asks for nothing else, is a pod of Linux on a network of its own, and has nothing of what the template adds';
  return {
    policy: {
      failurePolicy: 'Ignore',
      matchConstraints,
      matchConditions: [{ name: 'not-opted-in', expression: celSaysTrue(keys.optIn) }],
      validations: [{ expression: celHasKey('annotations', keys.status), message }],
    },
    binding: { validationActions: [onConflict === 'deny' ? 'Deny' : 'Warn'] },
  };
}

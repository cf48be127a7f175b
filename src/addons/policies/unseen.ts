import type { Keys } from '../../injection/keys.ts';
import { celHasKey, celSaysTrue } from '../../injection/podspec/cel.ts';
import type { InjectionOptions } from '../../injection/template/options.ts';
import type { JsonObject } from '../../util/json.ts';

/**
 * A ValidatingAdmissionPolicy and its binding, for clusters without the webhook. A pod that opts in but gets no sidecar
 * causes a warning, or is rejected if `onConflict` is `deny`.
 */
export function unseenPolicy(
  keys: Keys,
  { onConflict }: InjectionOptions,
  matchConstraints: JsonObject,
): { readonly policy: JsonObject; readonly binding: JsonObject } {
  const message =
    'no sidecar: without a webhook, policies inject only Linux pods without hostNetwork, overrides or names that the template uses, in namespaces that select no template';
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

import { quoteText } from '../../util/clip.ts';
import { MAX_DIAGNOSTICS, type TextDiagnostic, textError } from '../../util/diagnostic.ts';
import { textExcess } from '../../util/text-bounds.ts';
import { bootstrapFaults } from './bootstrap.ts';

/** What is wrong with the data of a ConfigMap that Envoy reads: with each bootstrap in it, or with its weights. */
export function configurationFaults(data: Readonly<Record<string, string>>): readonly TextDiagnostic[] {
  if (holdsWeights(data)) return weightFaults(data);
  const [source = ''] = Object.keys(data);
  const excess = textExcess(data);
  if (excess !== undefined) return [textError(source, excess)];
  return Object.entries(data).flatMap(([key, text]) =>
    isBootstrapKey(key) ? bootstrapFaults(key, text) : [],
  );
}

/** The label of a ConfigMap with weights: the webhook checks such ConfigMaps. */
export const WEIGHTS_LABEL = 'initializer.kubernetes.io/envoy-weights';

/**
 * Checks the weights of a canary, as Envoy's runtime reads them from a ConfigMap's keys (`canary.app_v1: "90"`). Envoy
 * silently ignores values that are not numbers, and answers every request with 404 if all weights are 0.
 */
export function weightFaults(data: Readonly<Record<string, string>>): readonly TextDiagnostic[] {
  const [firstKey = ''] = Object.keys(data);
  const excess = textExcess(data);
  if (excess !== undefined) return [textError(firstKey, excess)];
  const groups = new Map<string, { first: string; sum: number }>();
  const faults: TextDiagnostic[] = [];
  for (const [source, text] of Object.entries(data)) {
    const isNumber = /^\d{1,9}\s*$/.test(text);
    if (!isNumber) {
      faults.push(textError(source, `must be a whole number such as "10", not ${quoteText(text)}`));
    }
    const prefix = source.slice(0, source.lastIndexOf('.'));
    const group = groups.get(prefix) ?? { first: source, sum: 0 };
    // A value that is not a number is already a fault.
    groups.set(prefix, { ...group, sum: group.sum + (isNumber ? Number(text) : 1) });
  }
  for (const [prefix, { first, sum }] of groups) {
    if (sum > 0) continue;
    const message = `all weights of ${prefix} are 0, so every request gets 404: give at least one a higher weight`;
    faults.push(textError(first, message));
  }
  return faults.slice(0, MAX_DIAGNOSTICS);
}

/** Whether a ConfigMap's keys are weights: all are `PREFIX.CLUSTER`, and none is a file. */
export function holdsWeights(data: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(data);
  return keys.length > 0 && keys.every((key) => /^[\w-]+(\.[\w-]+)+$/.test(key) && !isBootstrapKey(key));
}

/** Whether a ConfigMap's key is a bootstrap file of Envoy. */
export function isBootstrapKey(key: string): boolean {
  return /\.(json|ya?ml)$/.test(key);
}

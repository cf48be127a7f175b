import type { Fault } from '../../util/diagnostic.ts';
import { textExcess } from '../../util/text-bounds.ts';
import { bootstrapFaults } from './bootstrap.ts';
import { holdsWeights, isBootstrapKey, weightFaults } from './weights.ts';

/** What is wrong with the data of a ConfigMap that Envoy reads: with each bootstrap in it, or with its weights. */
export function configurationFaults(data: Readonly<Record<string, string>>): readonly Fault[] {
  if (holdsWeights(data)) return weightFaults(data);
  const [source = ''] = Object.keys(data);
  const excess = textExcess(data);
  if (excess !== undefined) return [{ source, path: '', message: excess }];
  return Object.entries(data).flatMap(([key, text]) =>
    isBootstrapKey(key) ? bootstrapFaults(key, text) : [],
  );
}

import { expect } from '@jest/globals';
import { type Injection, inject } from '../../../src/injection/inject.ts';
import type { DecideInput } from '../../../src/injection/rule.ts';
import { explain } from '../../../src/injection/rules/index.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { decideInput, podWith, templateSet } from './demo.ts';
import { applyRfc6902 } from './rfc6902.ts';

type Injected = Extract<Injection, { outcome: 'injected' }>;

/**
 * The result of an injection, after checking what holds for every one: the given pod has not changed, a
 * second applier makes the same pod of the patch, and injecting that pod again changes nothing.
 */
export function injectChecked(input: DecideInput): Injected {
  const before = structuredClone(input.pod);
  const result = inject(input);
  expect(input.pod).toEqual(before);
  if (result.outcome !== 'injected')
    throw new Error(`${result.outcome}: ${explain(result.skip.diagnostics).join('; ')}`);
  expect(applyRfc6902(input.pod, result.operations)).toEqual(result.pod);
  const again = inject({ ...input, pod: result.pod });
  expect(again).toMatchObject({ outcome: 'skipped', skip: { reason: 'already-injected' } });
  return result;
}

/** The pod of the demo with this spec and metadata, injected with templates of that data, by default the demo's. */
export function injectWith(
  spec: JsonObject,
  data?: Readonly<Record<string, string>>,
  metadata?: JsonObject,
): Injected {
  return injectChecked(decideInput(podWith(spec, metadata), { state: { set: templateSet(data) } }));
}

export const specOf = (pod: JsonObject) => pod.spec as JsonObject;
export const metadataOf = (pod: JsonObject) => pod.metadata as JsonObject;
export const namesOf = (list: unknown) => (list as readonly JsonObject[]).map(({ name }) => name);

import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { inject } from '../../../src/injection/inject.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { uninject } from '../../../src/injection/uninject.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own } from '../../../src/util/json.ts';
import { pods, states } from '../../support/injection/arbitrary-pods.ts';
import { decideInput, OPT_IN, podWith, STATUS } from '../../support/injection/demo.ts';
import { metadataOf, specOf } from '../../support/injection/inject-checked.ts';

const KEYS = keysFor();

/** Lists and maps that injection may add to. Kubernetes treats empty and null ones as absent. */
const BLANKABLE: ReadonlySet<string> = new Set([
  ...['metadata', 'labels', 'annotations', 'initContainers', 'volumes', 'imagePullSecrets'],
  ...['hostAliases', 'securityContext', 'dnsConfig', 'env', 'volumeMounts'],
]);

function normal(value: JsonValue): JsonValue {
  if (isArray(value)) return value.map(normal);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, normal(item)] as const)
      .filter(([key, item]) => !(BLANKABLE.has(key) && (item === null || Object.keys(item).length === 0))),
  );
}

describe('uninject', () => {
  test('returns the original pod, for every pod and template', () => {
    let injected = 0;
    fc.assert(
      fc.property(pods, states, fc.boolean(), (generated, state, overrideFirst) => {
        const pod = overrideFirst ? withNativeOverride(generated) : generated;
        const result = inject(decideInput(pod, { state, namespaceLabels: { [OPT_IN]: 'true' } }));
        if (result.outcome !== 'injected') return;
        injected += 1;
        const frozen = structuredClone(result.pod);
        expect(normal(uninject(result.pod, KEYS) ?? null)).toEqual(normal(pod));
        expect(result.pod).toEqual(frozen);
      }),
      { numRuns: 1000 },
    );
    expect(injected).toBeGreaterThan(200);
  });

  test('does not throw for any status', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (added, moved) => {
        const overlaid = { 'myapp-container': { name: 'x' }, gone: { name: 'y' } };
        const text = JSON.stringify({ version: 1, added, overlaid, moved });
        const back = uninject(podWith({}, { annotations: { [STATUS]: text } }), KEYS);
        expect(own(own(metadataOf(back ?? {}), 'annotations'), STATUS)).toBeUndefined();
      }),
    );
  });
});

/** The pod with an init container that overrides the template's container. */
function withNativeOverride(pod: JsonObject): JsonObject {
  const spec = specOf(pod);
  const rest = (spec.containers as JsonObject[]).filter(({ name }) => name !== 'envoy');
  if (rest.length === 0) return pod;
  const override = { name: 'envoy', image: 'auto', args: ['--mine'] };
  const inits = isArray(spec.initContainers) ? spec.initContainers : [];
  return { ...pod, spec: { ...spec, containers: rest, initContainers: [override, ...inits] } };
}

import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { inject } from '../../../src/inject/inject.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own } from '../../../src/inject/json.ts';
import { keysFor } from '../../../src/inject/keys.ts';
import { uninject } from '../../../src/inject/uninject.ts';
import { pods, states } from '../../support/arbitrary-pods.ts';
import {
  DEMO_TEMPLATE,
  decideInput,
  demoPod,
  OPT_IN,
  podWith,
  STATUS,
  templateSet,
} from '../../support/demo.ts';
import { injectChecked, metadataOf, namesOf, specOf } from '../../support/inject-checked.ts';

const KEYS = keysFor();
const app: JsonObject = { name: 'app', image: 'busybox' };

/** Lists and maps that injection may add to: to Kubernetes an empty one, or null, is the same as none. */
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
  test('gives back the pod that was injected, for every pod and template', () => {
    let injected = 0;
    fc.assert(
      fc.property(pods, states, fc.boolean(), (generated, state, stubFirst) => {
        const pod = stubFirst ? withNativeStub(generated) : generated;
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

  test('gives back the pod of the demo as it was written', () => {
    expect(uninject(injectChecked(decideInput(demoPod())).pod, KEYS)).toEqual(demoPod());
  });

  test('puts a container back into the list and place that it was moved from', () => {
    const stub = { name: 'envoy', image: 'auto', args: ['--mine'] };
    const pod = podWith({ containers: [app, stub, { ...app, name: 'last' }], restartPolicy: 'Never' });
    const { pod: injected, status } = injectChecked(decideInput(pod));
    expect(namesOf(specOf(injected).initContainers)).toEqual(['envoy']);
    expect(status.moved).toEqual({ envoy: { list: 'containers', index: 1 } });
    expect(uninject(injected, KEYS)).toEqual(pod);
  });

  test('keeps what was changed since', () => {
    const { pod } = injectChecked(decideInput(demoPod()));
    const spec = specOf(pod);
    const changed = {
      ...pod,
      spec: {
        ...spec,
        containers: [...(spec.containers as JsonObject[]), { name: 'debug', image: 'busybox' }],
        volumes: [...(spec.volumes as JsonObject[]), { name: 'mine', emptyDir: {} }],
      },
    };
    const back = uninject(changed, KEYS) ?? {};
    expect(namesOf(specOf(back).containers)).toEqual(['myapp-container', 'debug']);
    expect(specOf(back).volumes).toEqual([{ name: 'mine', emptyDir: {} }]);
  });

  test.each<[string, string | undefined]>([
    ['without a status', undefined],
    ['with a status that is no JSON', '{'],
    ['with a status of another version', '{"version":2}'],
  ])('leaves a pod alone %s', (_, status) => {
    const pod = podWith({}, { annotations: status === undefined ? {} : { [STATUS]: status } });
    expect(uninject(pod, KEYS)).toBeUndefined();
  });

  test('survives every status that anyone may have written', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (added, moved) => {
        const overlaid = { 'myapp-container': { name: 'x' }, gone: { name: 'y' } };
        const text = JSON.stringify({ version: 1, added, overlaid, moved });
        const back = uninject(podWith({}, { annotations: { [STATUS]: text } }), KEYS);
        expect(own(own(metadataOf(back ?? {}), 'annotations'), STATUS)).toBeUndefined();
      }),
    );
  });

  test("restores a container that another template's variables were added to", () => {
    const set = templateSet({
      config: `${DEMO_TEMPLATE}env: [{name: B, value: b}]`,
      'config.second': 'containers: [{name: helper, image: helper}]',
    });
    const annotations = { [OPT_IN]: 'true', 'initializer.kubernetes.io/envoy-templates': 'config,second' };
    const pod = podWith({ containers: [app, { name: 'helper', image: 'auto' }] }, { annotations });
    const { pod: injected } = injectChecked(decideInput(pod, { state: { set } }));
    expect(uninject(injected, KEYS)).toEqual(pod);
  });
});

/** The pod with a container of the template's name among its init containers, to be laid over it. */
function withNativeStub(pod: JsonObject): JsonObject {
  const spec = specOf(pod);
  const rest = (spec.containers as JsonObject[]).filter(({ name }) => name !== 'envoy');
  if (rest.length === 0) return pod;
  const stub = { name: 'envoy', image: 'auto', args: ['--mine'] };
  const inits = isArray(spec.initContainers) ? spec.initContainers : [];
  return { ...pod, spec: { ...spec, containers: rest, initContainers: [stub, ...inits] } };
}

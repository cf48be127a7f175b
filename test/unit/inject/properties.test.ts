import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { inject } from '../../../src/inject/inject.ts';
import type { JsonObject, JsonValue } from '../../../src/inject/json.ts';
import { DEMO_TEMPLATE, decideInput, OPT_IN, templateSet } from '../../support/demo.ts';
import { injectChecked, specOf } from '../../support/inject-checked.ts';

/** Keys that trip up those who split pointers, or read what every object inherits. */
const oddKey = fc.oneof(
  fc.constantFrom(
    'a/b',
    'c~d',
    '~1',
    '~0',
    '__proto__',
    'constructor',
    'toString',
    '-',
    '',
    '0',
    'ключ',
    '🔑',
  ),
  fc.string({ maxLength: 8 }),
);
/** An object with every key as its own, as JSON.parse makes it. */
const record = (value: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject> =>
  fc.array(fc.tuple(oddKey, value), { maxLength: 4 }).map((entries) => Object.fromEntries(entries));

const anything = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>;
const name = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?$/);
const container = fc
  .record(
    {
      name,
      image: fc.constantFrom('busybox', 'auto'),
      ports: fc.array(
        fc.record({ containerPort: fc.constantFrom(80, 81, 8080), protocol: fc.constantFrom('TCP', 'UDP') }),
        { maxLength: 2 },
      ),
      env: fc.oneof(
        fc.constant(null),
        fc.array(fc.record({ name: oddKey, value: fc.string() }), { maxLength: 3 }),
      ),
      volumeMounts: fc.constant(null),
      fromTheFuture: anything,
    },
    { requiredKeys: ['name', 'image'] },
  )
  .map((value) => value as JsonObject);
const containers = fc.uniqueArray(
  fc.oneof(
    container,
    container.map((c) => ({ ...c, name: 'envoy' })),
  ),
  {
    minLength: 1,
    maxLength: 4,
    selector: (c) => c.name,
  },
);
const volume = fc.oneof(
  fc.record({ name, emptyDir: fc.constant({}) }),
  fc.constant({ name: 'envoy-conf', configMap: { name: 'envoy', defaultMode: 420 } }),
  fc.constant({ name: 'envoy-conf', configMap: { name: 'other' } }),
);
const nullable = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 5, arbitrary: value });
const strings = record(fc.string() as fc.Arbitrary<JsonValue>);

const pods: fc.Arbitrary<JsonObject> = fc
  .record({
    metadata: fc.record(
      {
        labels: nullable(strings),
        annotations: nullable(strings),
        generateName: fc.string(),
        odd: record(anything),
      },
      { requiredKeys: [] },
    ),
    spec: fc
      .record(
        {
          containers,
          initContainers: nullable(
            fc.uniqueArray(
              container.map((c) => ({ ...c, name: `init-${c.name}` })),
              { maxLength: 2, selector: (c) => c.name },
            ),
          ),
          volumes: nullable(fc.uniqueArray(volume, { maxLength: 3, selector: (v) => v.name })),
          restartPolicy: fc.constantFrom('Always', 'Never', 'OnFailure'),
          imagePullSecrets: nullable(fc.array(fc.record({ name }), { maxLength: 2 })),
          securityContext: nullable(
            fc.record({ fsGroup: fc.nat(), fromTheFuture: anything }, { requiredKeys: [] }),
          ),
          hostNetwork: fc.constant(false),
        },
        { requiredKeys: ['containers'] },
      )
      .chain((spec) => record(anything).map((odd) => ({ odd, ...spec }))),
    status: anything,
  })
  .map((pod) => pod as unknown as JsonObject);

const RICH_TEMPLATE = `
metadata: {labels: {mesh: "1"}, annotations: {example.com/mesh: "1"}}
spec:
  ${DEMO_TEMPLATE.replaceAll('\n', '\n  ')}
  initContainers: [{name: redirect, image: i}]
  imagePullSecrets: [{name: registry}]
  securityContext: {fsGroup: 1337, runAsUser: 1337}
  dnsConfig: {searches: [a.b]}
  hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]
  env: [{name: PROXY, value: x}]
  volumeMounts: [{name: envoy-conf, mountPath: /etc/envoy}]
`;

const states = fc
  .record({
    config: fc.constantFrom(DEMO_TEMPLATE, RICH_TEMPLATE),
    position: fc.constantFrom('first', 'last'),
    nativeSidecar: fc.constantFrom('jobs', 'always', 'never'),
  })
  .map(({ config, ...options }) => ({ set: templateSet({ config, options: JSON.stringify(options) }) }));

/** The pod as the namespace's opt-in finds it. */
const input = (pod: JsonObject, state: { set: ReturnType<typeof templateSet> }) =>
  decideInput(pod, { state, namespaceLabels: { [OPT_IN]: 'true' } });

const byName = (list: JsonValue | undefined) =>
  new Map((Array.isArray(list) ? (list as readonly JsonObject[]) : []).map((item) => [item.name, item]));

describe('for every pod and template', () => {
  test('the patch fits, a second applier agrees, and a second pass changes nothing', () => {
    let injected = 0;
    fc.assert(
      fc.property(pods, states, (pod, state) => {
        if (inject(input(pod, state)).outcome !== 'injected') return;
        injectChecked(input(pod, state));
        injected += 1;
      }),
      { numRuns: 500 },
    );
    expect(injected).toBeGreaterThan(100);
  });

  test("the pod's own containers stay as they are and in their order, but for what the template adds to them", () => {
    fc.assert(
      fc.property(pods, states, (pod, state) => {
        const result = inject(input(pod, state));
        if (result.outcome !== 'injected') return;
        const own = (specOf(pod).containers as readonly JsonObject[]).filter(({ image }) => image !== 'auto');
        const after = byName(specOf(result.pod).containers);
        for (const before of own) {
          const { env: _env, volumeMounts: _mounts, ...rest } = after.get(before.name) ?? {};
          const { env: _ownEnv, volumeMounts: _ownMounts, ...ownRest } = before;
          expect(rest).toEqual(ownRest);
        }
        expect([...after.keys()].filter((key) => own.some(({ name: n }) => n === key))).toEqual(
          own.map(({ name: n }) => n),
        );
      }),
    );
  });

  test('fields that are not known survive', () => {
    fc.assert(
      fc.property(pods, states, (pod, state) => {
        const result = inject(input(pod, state));
        if (result.outcome !== 'injected') return;
        expect(specOf(result.pod).odd).toBe(specOf(pod).odd);
        expect(JSON.stringify(result.pod.status)).toBe(JSON.stringify(pod.status));
      }),
    );
  });

  test('the number of operations depends on the template alone, not on the size of the pod', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 5 }), (variables, count) => {
        const env = Array.from({ length: variables }, (_, i) => ({ name: `K${i}`, value: 'v' }));
        const own = Array.from({ length: count }, (_, i) => ({ name: `app-${i}`, image: 'a', env }));
        const { operations } = injectChecked(
          input({ metadata: {}, spec: { containers: own } }, { set: templateSet() }),
        );
        expect(operations).toHaveLength(3);
      }),
      { numRuns: 20 },
    );
  });

  test('whatever a pod is, it is skipped or injected and never throws', () => {
    fc.assert(
      fc.property(record(anything), record(anything), record(anything), (root, metadata, spec) => {
        const pod = { ...root, metadata, spec };
        expect(['injected', 'skipped']).toContain(inject(input(pod, { set: templateSet() })).outcome);
      }),
    );
  });
});

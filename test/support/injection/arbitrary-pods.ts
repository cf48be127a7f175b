import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../src/util/json.ts';
import { DEMO_TEMPLATE, templateSet } from './demo.ts';

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
export const record = (value: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject> =>
  fc.array(fc.tuple(oddKey, value), { maxLength: 4 }).map((entries) => Object.fromEntries(entries));

/** As it was once text: a jsonValue may have -0, which JSON.stringify writes as 0. */
export const anything = fc.json({ maxDepth: 2 }).map((text): JsonValue => JSON.parse(text));
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

/** Pods of every odd form that the API server would let through, and some that it would not. */
export const pods: fc.Arbitrary<JsonObject> = fc
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

export const RICH_TEMPLATE = `
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

/** Templates of the moment, with every policy. */
export const states = fc
  .record({
    config: fc.constantFrom(DEMO_TEMPLATE, RICH_TEMPLATE),
    position: fc.constantFrom('first', 'last'),
    nativeSidecar: fc.constantFrom('jobs', 'always', 'never'),
  })
  .map(({ config, ...options }) => ({ set: templateSet({ config, options: JSON.stringify(options) }) }));

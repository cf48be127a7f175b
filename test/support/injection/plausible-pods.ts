import fc from 'fast-check';
import type { JsonObject } from '../../../src/util/json.ts';

/** Pods that an API server takes, most of them: in many forms, and in the way of templates here and there. */
const name = fc.stringMatching(/^[a-z]([a-z0-9-]{0,6}[a-z0-9])?$/);
const key = fc.constantFrom('app', 'example.com/team', 'a.b/c_d', 'x'.repeat(63));
const optional = <T extends Record<string, fc.Arbitrary<unknown>>>(fields: T) =>
  fc.record(fields, { requiredKeys: [] });
const list = <T>(item: fc.Arbitrary<T>, keyOf: (item: T) => unknown, maxLength = 3) =>
  fc.uniqueArray(item, { selector: keyOf, maxLength });

const probe = fc.oneof(
  fc.constant({ httpGet: { path: '/', port: 8080 } }),
  fc.constant({ tcpSocket: { port: 'web' }, periodSeconds: 5 }),
  fc.constant({ exec: { command: ['true'] }, failureThreshold: 1 }),
);
const env = fc.oneof(
  fc.record({ name: fc.constantFrom('A', 'b.c-d', 'PROXY', '$(X)'), value: fc.string() }),
  fc.constant({ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }),
  fc.constant({ name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } }),
  fc.constant({ name: 'KEY', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: true } } }),
);
const container = optional({
  args: fc.array(fc.string(), { maxLength: 2 }),
  env: fc.oneof(
    fc.constant(null),
    list(env, ({ name: n }) => n),
  ),
  ports: list(
    fc.record({
      containerPort: fc.constantFrom(80, 81, 8080, 9901),
      protocol: fc.constantFrom('TCP', 'UDP'),
    }),
    ({ containerPort, protocol }) => `${containerPort}/${protocol}`,
  ),
  resources: optional({
    requests: fc.constantFrom({ cpu: '10m' }, { memory: '1Mi', cpu: 0.01 }),
    limits: fc.constantFrom({ cpu: 1 }, { memory: '1Gi' }),
  }),
  readinessProbe: probe,
  volumeMounts: fc.constantFrom(
    null,
    [],
    [{ name: 'data', mountPath: '/data' }],
    [{ name: 'data', mountPath: '/conf' }],
  ),
  securityContext: fc.constantFrom({}, { runAsUser: 2_147_483_647 }, { capabilities: { drop: ['ALL'] } }),
});
const named = fc
  .tuple(name, container)
  .map(([n, rest]): JsonObject => ({ name: n, image: 'i', ...(rest as JsonObject) }));
/** Laid over the template's container; with much that the API server drops before a webhook sees it. */
const override = optional({
  args: fc.array(fc.string(), { maxLength: 2 }),
  command: fc.constantFrom([], ['envoy']),
  env: list(
    fc.oneof(
      fc.record({ name: fc.constantFrom('A', 'PROXY'), value: fc.constantFrom('', 'x') }),
      fc.constant({ name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } }),
    ),
    ({ name: n }) => n,
  ),
  resources: optional({
    requests: fc.constantFrom({ cpu: '20m' }, { memory: '2Mi' }),
    limits: fc.constantFrom({ cpu: '1500m' }, { memory: '1Gi', cpu: 2 }),
  }),
  workingDir: fc.constantFrom('', '/tmp'),
  tty: fc.boolean(),
  volumeMounts: fc.constantFrom([], [{ name: 'data', mountPath: '/etc/envoy', readOnly: false }]),
  readinessProbe: probe,
  imagePullPolicy: fc.constantFrom('Always', 'Never'),
}).map((its): JsonObject => ({ name: 'envoy', image: 'auto', ...(its as JsonObject) }));

export const plausiblePods: fc.Arbitrary<JsonObject> = fc
  .record({
    labels: fc.oneof(fc.constant(null), fc.dictionary(key, fc.constantFrom('', 'a', 'A_b.c'))),
    annotations: fc.oneof(fc.constant(null), fc.dictionary(key, fc.string())),
    apps: fc.uniqueArray(named, { selector: ({ name: n }) => n, minLength: 1, maxLength: 3 }),
    overrides: fc.array(override, { maxLength: 1 }),
    inits: list(
      fc.tuple(named, fc.boolean()).map(([its, native]): JsonObject => {
        const { readinessProbe: _, ...rest } = its;
        return { ...rest, name: `i-${rest.name}`, ...(native && { restartPolicy: 'Always' }) };
      }),
      ({ name: n }) => n,
      2,
    ),
    volumes: fc.constantFrom<(readonly JsonObject[])[]>(
      [{ name: 'data', emptyDir: {} }],
      [
        { name: 'data', hostPath: { path: '/' } },
        { name: 'envoy-conf', configMap: { name: 'envoy' } },
      ],
      [
        { name: 'data', emptyDir: {} },
        { name: 'conf', emptyDir: { sizeLimit: '1Gi' } },
      ],
    ),
    spec: optional({
      restartPolicy: fc.constantFrom('Always', 'Never', 'OnFailure'),
      securityContext: fc.constantFrom(null, {}, { fsGroup: 1 }, { runAsNonRoot: true }),
      hostAliases: fc.constantFrom(
        [],
        [{ ip: '10.0.0.1', hostnames: ['mesh', 'a'] }],
        [{ ip: '::1', hostnames: ['b'] }],
      ),
      imagePullSecrets: fc.constantFrom([], [{ name: 'registry' }], [{ name: 'other' }]),
      dnsConfig: fc.constantFrom(
        null,
        { searches: ['a.b'] },
        { searches: [] },
        { nameservers: ['10.0.0.1'] },
      ),
      terminationGracePeriodSeconds: fc.constantFrom(0, 30),
      tolerations: fc.constant([{ operator: 'Exists' }]),
      resources: optional({
        requests: fc.constantFrom({ cpu: '3' }, { memory: '2Gi', cpu: 3 }, { cpu: '20m' }),
        limits: fc.constantFrom({ cpu: '8' }, { memory: '8Gi', cpu: 8 }, { memory: '4G' }),
      }),
    }),
  })
  .map(
    ({ labels, annotations, apps, overrides, inits, volumes, spec }): JsonObject => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'pod', labels, annotations },
      spec: { ...(spec as JsonObject), containers: [...apps, ...overrides], initContainers: inits, volumes },
    }),
  );

const CONTEXTS: readonly JsonObject[] = [
  ...['seccompProfile', 'appArmorProfile'].flatMap((field): JsonObject[] => [
    { [field]: { type: 'RuntimeDefault' } },
    { [field]: { type: 'Unconfined' } },
    { [field]: { type: 'Localhost', localhostProfile: 'p' } },
  ]),
  { runAsUser: 0 },
  { runAsUser: 1000 },
  { runAsNonRoot: true },
  { runAsNonRoot: false },
  ...[
    { type: 'container_t' },
    { type: 'container_engine_t' },
    { type: 'spc_t' },
    { user: 'u' },
    { role: 'r' },
    { level: 's0' },
  ].map((seLinuxOptions): JsonObject => ({ seLinuxOptions })),
];
const CONTAINER_CONTEXTS: readonly JsonObject[] = [
  ...CONTEXTS,
  { privileged: true, allowPrivilegeEscalation: true },
  { allowPrivilegeEscalation: true },
  { procMount: 'Default' },
  { procMount: 'Unmasked' },
  ...[
    { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
    { add: ['CHOWN'], drop: ['ALL'] },
    { add: ['NET_ADMIN'] },
    { drop: ['CHOWN'] },
  ].map((capabilities): JsonObject => ({ capabilities })),
];
const SYSCTLS: readonly JsonObject[] = [
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_notsent_lowat',
  'kernel.msgmax',
].map((name): JsonObject => ({ sysctls: [{ name, value: '1' }] }));
/** Annotations that newer fields replace. */
const ANNOTATIONS: readonly JsonObject[] = [
  ...['runtime/default', 'localhost/p', 'unconfined'].flatMap((value): JsonObject[] => [
    { 'container.apparmor.security.beta.kubernetes.io/app': value },
    { 'seccomp.security.alpha.kubernetes.io/pod': value },
    { 'container.seccomp.security.alpha.kubernetes.io/app': value },
  ]),
  { 'container.seccomp.security.alpha.kubernetes.io/other': 'unconfined' },
];
/** What keeps to `restricted`, the pod security of the operator's namespace. */
export const CLEAN: JsonObject = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};
/** Now and then, and few at a time: else all would be refused, for several reasons at once. */
const some = (from: readonly JsonObject[]) =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant<JsonObject>({}) },
    {
      weight: 3,
      arbitrary: fc
        .subarray([...from], { minLength: 1, maxLength: 2 })
        .map((its): JsonObject => Object.assign({}, ...its)),
    },
  );
const secured = fc
  .tuple(
    fc.constantFrom<JsonObject[]>(CLEAN, CLEAN, {}),
    some(CONTAINER_CONTEXTS),
    fc.constantFrom<JsonObject[]>(
      {},
      {},
      {},
      { ports: [{ containerPort: 80, hostPort: 80 }] },
      { livenessProbe: { httpGet: { port: 80, host: 'h' } } },
      { lifecycle: { preStop: { tcpSocket: { port: 80, host: 'h' } } } },
    ),
  )
  .map(([clean, its, more]): JsonObject => ({ image: 'i', securityContext: { ...clean, ...its }, ...more }));

/** Pods with all that the Pod Security Standards look at and a template can add. */
export const securedPods: fc.Arbitrary<JsonObject> = fc
  .record({
    app: secured,
    init: fc.option(secured),
    securityContext: some([...CONTEXTS, ...SYSCTLS]),
    user: fc.constantFrom<JsonObject[]>({}, {}, { hostUsers: false }),
    annotations: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, fc.constantFrom(...ANNOTATIONS)),
    volume: fc.constantFrom<JsonObject[]>(
      ...[{ emptyDir: {} }, { configMap: { name: 'c' } }, { projected: { sources: [] } }],
      ...[{ emptyDir: {} }, { hostPath: { path: '/' } }, { nfs: { server: 's', path: '/' } }],
      { image: { reference: 'i' } },
    ),
  })
  .map(({ app, init, securityContext, user, annotations, volume }): JsonObject => {
    const inits = init ? [{ image: 'i', securityContext: init.securityContext ?? null, name: 'init' }] : [];
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'pod', annotations },
      spec: {
        ...user,
        containers: [{ ...app, name: 'app' }],
        initContainers: inits,
        securityContext,
        volumes: [{ name: 'data', ...volume }],
      },
    };
  });

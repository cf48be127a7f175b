import fc from 'fast-check';
import type { JsonObject } from '../../../src/util/json.ts';

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
/** What keeps to `restricted`. */
const CLEAN = {
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

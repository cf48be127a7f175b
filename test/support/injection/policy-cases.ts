import fc from 'fast-check';
import { keysFor } from '../../../src/injection/keys.ts';
import type { TemplateSet } from '../../../src/injection/template/template-set.ts';
import type { JsonObject, JsonValue } from '../../../src/util/json.ts';
import { templateSet } from './demo.ts';

/** Templates and pods that the API server takes, near enough to each other to meet often. */

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(
    '',
    '"',
    '\\',
    '\\n',
    "'",
    '`',
    '$(x)',
    '\u2028',
    '\ud800',
    '\u0000',
    '\r\n\t',
    '🔑',
    '"""',
    '#',
    '? :',
  ),
);
const small = fc.integer({ min: 1, max: 3 });
const many = <T>(value: fc.Arbitrary<T>, maxLength = 2) => fc.array(value, { maxLength });
const some = <T extends JsonObject>(
  fields: { [K in keyof T]: fc.Arbitrary<T[K]> },
  requiredKeys: (keyof T)[],
) => fc.record(fields, { requiredKeys }) as unknown as fc.Arbitrary<JsonObject>;
const distinct = (value: fc.Arbitrary<JsonObject>, key: string, maxLength = 2) =>
  fc.uniqueArray(value, { maxLength, selector: (item) => String(item[key]) });

/** The names and paths of templates and of pods: they seldom have one in common. */
interface Names {
  readonly env: readonly string[];
  readonly paths: readonly string[];
}
const TEMPLATE: Names = { env: ['A', 'HTTP_PROXY', 'x.y-z'], paths: ['/etc/envoy', '/a"b\\c', '/ä'] };
const POD: Names = {
  env: ['A', 'B', 'C', 'D', 'E', 'F', 'G'],
  paths: ['/etc/envoy', '/etc//envoy', '/1', '/2', '/3', '/4/', '/5'],
};

function env({ env: names }: Names): fc.Arbitrary<readonly JsonObject[]> {
  const name = fc.constantFrom(...names);
  const variable = fc.oneof(
    fc.record({ name, value: text }) as unknown as fc.Arbitrary<JsonObject>,
    name.map((n) => ({ name: n, valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } })),
    name.map((n) => ({
      name: n,
      valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } },
    })),
  );
  return distinct(variable, 'name');
}
const port = some(
  {
    containerPort: fc.constantFrom(80, 81, 8080, 9901),
    protocol: fc.constantFrom('TCP', 'UDP'),
    hostPort: fc.constantFrom(0, 30080),
    name: fc.constantFrom('web', 'admin'),
  },
  ['containerPort'],
);
const quantities = some(
  { cpu: fc.constantFrom('100m', '0.1', 1, 0.25), memory: fc.constantFrom('64Mi', '1e6', 1048576) },
  [],
);
const probe = fc.oneof(
  some({ httpGet: fc.constantFrom({ port: 80, path: '/ok' }, { port: 'admin' }), periodSeconds: small }, [
    'httpGet',
  ]),
  fc.constant({ exec: { command: ['true'] }, initialDelaySeconds: 0 }) as unknown as fc.Arbitrary<JsonObject>,
);
const profile = fc.constantFrom<JsonObject>({ type: 'RuntimeDefault' }, { type: 'Unconfined' });
const containerContext = some(
  {
    runAsUser: fc.constantFrom(0, 1337, 2147483647),
    runAsNonRoot: fc.boolean(),
    allowPrivilegeEscalation: fc.boolean(),
    capabilities: fc.constantFrom<JsonObject>({ drop: ['ALL'] }, { add: ['NET_ADMIN'], drop: [] }),
    seccompProfile: profile,
    readOnlyRootFilesystem: fc.boolean(),
  },
  [],
);
const lifecycle = fc.constantFrom<JsonObject>(
  { preStop: { exec: { command: ['sh', '-c', 'echo "bye" && sleep 1'] } } },
  { preStop: { sleep: { seconds: 5 } } },
  { postStart: { httpGet: { port: 80, host: 'localhost', httpHeaders: [{ name: 'X-A', value: '"' }] } } },
);
const volume = fc.constantFrom<JsonObject>(
  { name: 'conf', configMap: { name: 'envoy', items: [{ key: 'a', path: 'a/b' }], defaultMode: 0o440 } },
  { name: 'conf', configMap: { name: 'envoy' } },
  { name: 'tmp', emptyDir: {} },
  { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
  { name: 'data', hostPath: { path: '/var/lib' } },
  { name: 'data', csi: { driver: 'csi.example.com', volumeAttributes: { 'a"b': 'c\\d' } } },
  {
    name: 'data',
    projected: {
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds: 600 } },
        { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      ],
    },
  },
  {
    name: 'data',
    ephemeral: {
      volumeClaimTemplate: {
        metadata: { labels: { a: 'b' } },
        spec: {
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: 1024 } },
          dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'old', namespace: 'other' },
          selector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
        },
      },
    },
  },
);
const volumes = distinct(volume, 'name', 3);
function mounts(volumeNames: readonly string[], { paths }: Names): fc.Arbitrary<readonly JsonObject[]> {
  if (volumeNames.length === 0) return fc.constant([]);
  const mount = some<JsonObject>(
    {
      name: fc.constantFrom(...volumeNames),
      mountPath: fc.constantFrom(...paths),
      readOnly: fc.boolean(),
      subPath: fc.constantFrom('x', ''),
    },
    ['name', 'mountPath'],
  );
  return distinct(mount, 'mountPath');
}

function container(
  name: fc.Arbitrary<string>,
  volumeNames: readonly string[],
  names: Names,
): fc.Arbitrary<JsonObject> {
  return some<JsonObject>(
    {
      name,
      image: fc.constantFrom('envoyproxy/envoy:v1', 'busybox'),
      args: many(text),
      command: many(text),
      env: env(names),
      ports: distinct(port, 'containerPort'),
      resources: some({ requests: quantities }, []),
      volumeMounts: mounts(volumeNames, names),
      livenessProbe: probe,
      securityContext: containerContext,
      lifecycle,
      workingDir: text,
      tty: fc.boolean(),
      imagePullPolicy: fc.constantFrom('Always', 'IfNotPresent'),
      terminationMessagePolicy: fc.constantFrom('File', 'FallbackToLogsOnError'),
    },
    ['name', 'image'],
  );
}

function initContainer(
  name: fc.Arbitrary<string>,
  volumeNames: readonly string[],
  names: Names,
): fc.Arbitrary<JsonObject> {
  return fc
    .tuple(container(name, volumeNames, names), fc.boolean())
    .map(([{ livenessProbe, lifecycle: hook, ...rest }, native]) => {
      if (!native) return rest;
      return {
        ...rest,
        ...(livenessProbe !== undefined && { livenessProbe }),
        ...(hook !== undefined && { lifecycle: hook }),
        restartPolicy: 'Always',
      };
    });
}

const labels = fc.dictionary(fc.constantFrom('app', 'mesh', 'example.com/team'), fc.constantFrom('a', 'b'), {
  maxKeys: 2,
});
const annotations = fc.dictionary(
  fc.constantFrom(
    ...['note', 'example.com/A_b.c', 'kubectl.kubernetes.io/default-container'],
    ...['prometheus.io/scrape', 'prometheus.io/port', 'prometheus.io/path'],
  ),
  text,
  { maxKeys: 2 },
);
const podContext = some(
  {
    fsGroup: fc.constantFrom(1, 1337),
    runAsNonRoot: fc.boolean(),
    runAsUser: fc.constantFrom(0, 1337),
    supplementalGroups: many(small),
    seccompProfile: profile,
    sysctls: fc.constantFrom<JsonValue>([{ name: 'net.ipv4.tcp_rmem', value: '1 2 3' }]),
  },
  [],
);
const dnsConfig = some(
  {
    nameservers: many(fc.constantFrom('10.0.0.1', 'fd00::1')),
    searches: many(fc.constantFrom('a.b', 'c')),
    options: distinct(
      some({ name: fc.constantFrom('ndots', 'edns0'), value: fc.constant('2') }, ['name']),
      'name',
    ),
  },
  [],
);
const hostAliases = distinct(
  some({ ip: fc.constantFrom('10.0.0.1', '10.0.0.2'), hostnames: many(fc.constantFrom('a', 'b.c')) }, ['ip']),
  'ip',
);
const imagePullSecrets = distinct(
  fc.constantFrom('one', 'two').map((name) => ({ name })),
  'name',
);

/** JSON, which is YAML, with nothing in it that a reader of YAML might refuse. */
function ascii(value: JsonValue): string {
  return JSON.stringify(value).replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export const TEMPLATE_SETS: fc.Arbitrary<TemplateSet> = volumes
  .chain((list) => {
    const names = list.map(({ name }) => String(name));
    return fc.record({
      volumes: fc.constant(list),
      metadata: some({ labels, annotations }, []),
      spec: some<JsonObject>(
        {
          containers: distinct(container(fc.constantFrom('envoy', 'agent'), names, TEMPLATE), 'name'),
          initContainers: distinct(
            initContainer(fc.constantFrom('redirect', 'warm-up'), names, TEMPLATE),
            'name',
          ),
          imagePullSecrets,
          hostAliases,
          securityContext: podContext,
          dnsConfig,
          env: env(TEMPLATE),
          volumeMounts: mounts(names, TEMPLATE),
        },
        [],
      ),
      options: fc.record({
        position: fc.constantFrom('first', 'last'),
        nativeSidecar: fc.constantFrom('jobs', 'always', 'never'),
        onConflict: fc.constantFrom('skip', 'deny'),
      }),
    });
  })
  .map(({ volumes: list, metadata, spec, options }) =>
    tryTemplateSet({
      config: ascii({ metadata, spec: { ...spec, volumes: list } }),
      options: ascii(options),
    }),
  )
  .filter((set) => set !== undefined);

function tryTemplateSet(data: Record<string, string>): TemplateSet | undefined {
  try {
    return templateSet(data);
  } catch {
    return undefined;
  }
}

const rarely = <T>(value: fc.Arbitrary<T>, weight = 1) =>
  fc.oneof({ weight: 30, arbitrary: fc.constant(undefined) }, { weight, arbitrary: value });

/** What a pod says about injection, under a key of its own. */
function marks(key: string): fc.Arbitrary<{ readonly labels: JsonObject; readonly annotations: JsonObject }> {
  const value = fc.oneof(
    { weight: 8, arbitrary: fc.constant('true') },
    { weight: 1, arbitrary: fc.constantFrom('false', 'yes') },
  );
  const keys = keysFor(key);
  return fc
    .record({
      label: fc.option(value, { nil: undefined, freq: 2 }),
      annotation: fc.option(value, { nil: undefined }),
      templates: rarely(fc.constantFrom('config', 'none')),
      image: rarely(fc.constant('mine')),
      status: rarely(fc.constantFrom('{}', '{"version":1,"templates":[],"added":{"containers":["app"]}}')),
      mirror: rarely(fc.constant('x')),
    })
    .map(({ label, annotation, templates, image, status, mirror }) => ({
      labels: defined({ [key]: label }),
      annotations: defined({
        [key]: annotation,
        [keys.templates]: templates,
        [keys.overrides.image]: image,
        [keys.status]: status,
        'kubernetes.io/config.mirror': mirror,
      }),
    }));
}

function defined(record: Record<string, string | undefined>): JsonObject {
  return Object.fromEntries(
    Object.entries(record).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

const podVolumes = distinct(
  fc.oneof(
    { weight: 1, arbitrary: volume },
    { weight: 10, arbitrary: fc.constant({ name: 'own', emptyDir: {} }) },
  ),
  'name',
);
const ownName = (prefix: string) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(`${prefix}-a`, `${prefix}-b`) },
    { weight: 1, arbitrary: fc.constantFrom('envoy', 'redirect') },
  );

/** Pods that meet the templates above, opted in or out under the key. */
export function podsFor(key: string): fc.Arbitrary<JsonObject> {
  return podVolumes
    .chain((list) => {
      const names = list.map(({ name }) => String(name));
      const plain = (name: fc.Arbitrary<string>) =>
        container(name, names, POD).map(({ ports, ...rest }) => ({
          ...rest,
          ...(ports ? { ports: [] } : {}),
        }));
      const own = fc.oneof(
        { weight: 8, arbitrary: plain(ownName('app')) },
        { weight: 1, arbitrary: container(ownName('app'), names, POD) },
        { weight: 1, arbitrary: ownName('app').map((name) => ({ name, image: 'auto' })) },
      );
      return fc.record({
        said: marks(key),
        labels,
        annotations,
        volumes: fc.constant(list),
        spec: some<JsonObject>(
          {
            containers: fc.uniqueArray(own, {
              minLength: 1,
              maxLength: 2,
              selector: (item) => String((item as JsonObject).name),
            }),
            initContainers: distinct(initContainer(ownName('init'), names, POD), 'name'),
            restartPolicy: fc.constantFrom('Always', 'Never', 'OnFailure'),
            imagePullSecrets,
            securityContext: podContext,
            dnsConfig,
          },
          ['containers'],
        ),
        odd: fc.oneof(
          { weight: 12, arbitrary: fc.constant({}) },
          {
            weight: 1,
            arbitrary: fc.constantFrom<JsonObject>(
              { hostNetwork: true },
              { terminationGracePeriodSeconds: 4 },
              { terminationGracePeriodSeconds: 5 },
              { os: { name: 'windows' } },
              { nodeSelector: { 'kubernetes.io/os': 'windows' } },
              { nodeSelector: { 'kubernetes.io/os': 'linux' } },
              { hostAliases: [{ ip: '10.0.0.1', hostnames: ['a'] }] },
              { resources: { limits: { cpu: '1', memory: '1Gi' } } },
            ),
          },
        ),
      });
    })
    .map(({ said, labels: own, annotations: notes, volumes: list, spec, odd }) => ({
      metadata: { labels: { ...own, ...said.labels }, annotations: { ...notes, ...said.annotations } },
      spec: { ...spec, volumes: list, ...odd },
    }));
}

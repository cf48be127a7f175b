import fc from 'fast-check';
import type { TemplateSet } from '../../../src/injection/template/template-set.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { OPT_IN, templateSet } from './demo.ts';

/** Pods and templates that have much in common: ports, volumes, mounts, devices, names and annotations. */
export interface ConflictCase {
  readonly pod: JsonObject;
  readonly set: TemplateSet;
}

const claim = (spec: JsonObject): JsonObject => ({
  ephemeral: {
    volumeClaimTemplate: {
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
    },
  },
});
const iscsi: JsonObject = { targetPortal: '10.0.0.1:3260', iqn: 'iqn.2001-04.com.example:a', lun: 0 };
const scaleIO: JsonObject = { gateway: 'g', system: 's', secretRef: { name: 's' }, volumeName: 'v' };
const azureDisk: JsonObject = { diskName: 'd', diskURI: '/subscriptions/d', kind: 'Managed' };
const token: JsonObject = { path: 'token', audience: 'a' };
const limit = (more: JsonObject): JsonObject => ({
  downwardAPI: {
    items: [{ path: 'cpu', resourceFieldRef: { containerName: 'app', resource: 'limits.cpu', ...more } }],
  },
});

/** Sources of each volume, each in spellings that mean the same. */
const SOURCES: Readonly<Record<string, readonly (readonly JsonObject[])[]>> = {
  tmp: [
    [{ emptyDir: {} }, { emptyDir: { medium: '' } }],
    [{ emptyDir: { sizeLimit: '1Gi' } }, { emptyDir: { sizeLimit: '1024Mi' } }],
    [{ emptyDir: { sizeLimit: '0.5Gi' } }, { emptyDir: { sizeLimit: '512Mi' } }],
  ],
  disk: [
    [
      { persistentVolumeClaim: { claimName: 'disk' } },
      { persistentVolumeClaim: { claimName: 'disk', readOnly: false } },
    ],
    [
      claim({}),
      claim({ volumeMode: 'Filesystem' }),
      claim({ resources: { requests: { storage: '1024Mi' } } }),
    ],
    [claim({ volumeMode: 'Block' })],
  ],
  conf: [
    [{ configMap: { name: 'conf' } }, { configMap: { name: 'conf', defaultMode: 0o644 } }],
    [{ configMap: { name: 'conf', defaultMode: 0 } }],
    [{ secret: { secretName: 'conf' } }, { secret: { secretName: 'conf', defaultMode: 0o644 } }],
    [{ hostPath: { path: '/conf' } }, { hostPath: { path: '/conf', type: '' } }],
    [{ image: { reference: 'conf' } }, { image: { reference: 'conf', pullPolicy: 'Always' } }],
    [{ image: { reference: 'conf:1' } }, { image: { reference: 'conf:1', pullPolicy: 'IfNotPresent' } }],
    [{ iscsi }, { iscsi: { ...iscsi, iscsiInterface: 'default' } }],
    [
      { rbd: { monitors: ['m'], image: 'i' } },
      { rbd: { monitors: ['m'], image: 'i', pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } },
    ],
    [{ scaleIO }, { scaleIO: { ...scaleIO, fsType: 'xfs', storageMode: 'ThinProvisioned' } }],
    [{ azureDisk }, { azureDisk: { ...azureDisk, fsType: 'ext4', cachingMode: 'ReadWrite' } }],
    [{ gcePersistentDisk: { pdName: 'd' } }, { gcePersistentDisk: { pdName: 'd', partition: 0 } }],
    [limit({}), limit({ divisor: '0' })],
    [limit({ divisor: '1m' }), limit({ divisor: '0.001' })],
    [
      { projected: { sources: [{ serviceAccountToken: token }] } },
      { projected: { sources: [{ serviceAccountToken: { ...token, expirationSeconds: 3600 } }] } },
    ],
  ],
};
const PATHS = ['/x', '/x/', '//x', '/x/.', '/y', 'y'];

const oneOf = fc.constantFrom;
type Volumes = readonly JsonObject[];
/** The volumes of a pod and of a template: those of one name are mostly of one source. */
const volumePairs: fc.Arbitrary<readonly [Volumes, Volumes]> = fc
  .tuple(
    ...Object.entries(SOURCES).map(([name, groups]) => {
      const spelled = (group: readonly JsonObject[]) =>
        fc.option(
          oneOf(...group).map((source): JsonObject => ({ name, ...source })),
          { nil: undefined },
        );
      return fc
        .tuple(oneOf(...groups), oneOf(...groups), fc.integer({ min: 0, max: 9 }))
        .chain(([one, another, n]) => fc.tuple(spelled(one), spelled(n === 0 ? another : one)));
    }),
  )
  .map((pairs) => [defined(pairs.map(([its]) => its)), defined(pairs.map(([, its]) => its))]);
const defined = <T>(list: readonly (T | undefined)[]) => list.filter((each) => each !== undefined);
const distinct = (item: fc.Arbitrary<JsonObject>, key: string, maxLength: number) =>
  fc.uniqueArray(item, { maxLength, selector: (each) => String(each[key]) });
const port = fc
  .record(
    {
      containerPort: fc.integer({ min: 1, max: 40 }),
      protocol: oneOf('TCP', 'UDP'),
      name: oneOf('web', 'admin'),
      hostPort: oneOf(0, 0, 0, 30001, 30002),
    },
    { requiredKeys: ['containerPort', 'name'] },
  )
  .map((each): JsonObject => ({ ...each }));

const list = (item: fc.Arbitrary<JsonObject>, key: string, weight: number) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight, arbitrary: distinct(item, key, 2) });

function mounts(names: readonly string[]): fc.Arbitrary<readonly JsonObject[]> {
  if (names.length === 0) return fc.constant([]);
  return list(
    fc.record({ name: oneOf(...names), mountPath: oneOf(...PATHS) }) as fc.Arbitrary<JsonObject>,
    'mountPath',
    4,
  );
}

function devices(names: readonly string[]): fc.Arbitrary<readonly JsonObject[]> {
  if (!names.includes('disk')) return fc.constant([]);
  return list(
    oneOf(...PATHS).map((devicePath): JsonObject => ({ name: 'disk', devicePath })),
    'name',
    1,
  );
}

function container(name: string, volumeNames: readonly string[]): fc.Arbitrary<JsonObject> {
  return fc.record({
    name: fc.constant(name),
    image: fc.constant('busybox'),
    ports: list(port, 'containerPort', 2),
    volumeMounts: mounts(volumeNames),
    volumeDevices: devices(volumeNames),
  }) as fc.Arbitrary<JsonObject>;
}

const native = (each: fc.Arbitrary<JsonObject>) =>
  fc
    .tuple(each, fc.boolean())
    .map(([its, isNative]) => (isNative ? { ...its, restartPolicy: 'Always' } : its));

const namesOf = (its: Volumes) => its.map(({ name }) => String(name));

function templates(its: Volumes): fc.Arbitrary<TemplateSet> {
  const names = namesOf(its);
  return fc
    .record({
      containers: fc.tuple(container('envoy', names)),
      initContainers: fc.oneof(fc.constant([]), fc.tuple(native(container('setup', names)))),
      volumes: fc.constant(its),
      volumeMounts: mounts(names),
      note: oneOf(0, 0, 0, 1000),
      options: fc.record({ position: oneOf('first', 'last'), nativeSidecar: oneOf('jobs', 'never') }),
    })
    .map(({ note, options, ...spec }) => {
      const metadata = note === 0 ? {} : { annotations: { 'example.com/template': 'x'.repeat(note) } };
      try {
        return templateSet({ config: JSON.stringify({ metadata, spec }), options: JSON.stringify(options) });
      } catch {
        return undefined;
      }
    })
    .filter((set) => set !== undefined);
}

function pods(its: Volumes): fc.Arbitrary<JsonObject> {
  const names = namesOf(its);
  return fc
    .record({
      containers: fc.oneof(
        { weight: 6, arbitrary: fc.tuple(container('app', names)) },
        { weight: 3, arbitrary: fc.tuple(container('app', names), container('other', names)) },
        { weight: 1, arbitrary: fc.tuple(container('app', names), container('setup', names)) },
      ),
      initContainers: fc.oneof(
        { weight: 3, arbitrary: fc.constant([]) },
        { weight: 2, arbitrary: fc.tuple(native(container('first', names))) },
      ),
      volumes: fc.constant(its),
      restartPolicy: oneOf('Always', 'Never'),
      note: fc.oneof(
        { weight: 8, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.integer({ min: 260_000, max: 262_100 }) },
      ),
    })
    .map(({ note, ...spec }): JsonObject => {
      const annotations = { [OPT_IN]: 'true', ...(note > 0 && { note: '€'.repeat(note / 3) }) };
      return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'pod', annotations }, spec };
    });
}

export const CONFLICT_CASES: fc.Arbitrary<ConflictCase> = volumePairs.chain(([its, others]) =>
  fc.record({ pod: pods(its), set: templates(others) }),
);

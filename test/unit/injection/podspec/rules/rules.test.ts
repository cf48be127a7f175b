import { expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { limitRangeViolations } from '../../../../../src/injection/podspec/rules/limit-ranges.ts';
import { formatPort, PortIndex } from '../../../../../src/injection/podspec/rules/ports.ts';
import { sameVolume } from '../../../../../src/injection/podspec/rules/same-volume.ts';
import type { JsonObject } from '../../../../../src/util/json.ts';

const range = (...limits: JsonObject[]) => [{ name: 'l', limits }];
const ofContainer = (item: JsonObject) => range({ type: 'Container', ...item });
const ofPod = (item: JsonObject) => range({ type: 'Pod', ...item });
const pod = (resources: JsonObject, spec: JsonObject = {}) => ({
  spec: { containers: [{ name: 'a', image: 'i', resources }], ...spec },
});
const cpu = (request: string, limit: string) => ({ requests: { cpu: request }, limits: { cpu: limit } });
const breaks = (bound: string, most: string, what = 'container a', resource = 'cpu') =>
  `${what}: ${resource} violates ${bound} ${most} of LimitRange l`;

// biome-ignore format: a line for each case
test.each<[string, JsonObject, JsonObject, readonly string[]]>([
    ['a limit above the maximum', { max: { cpu: '1' } }, cpu('1', '1001m'), [breaks('max', '1')]],
    ['a limit at the maximum', { max: { cpu: '1' } }, cpu('1', '1000m'), []],
    ['no limit, for which the maximum is the default', { max: { cpu: '1' } }, {}, []],
    [
      'no limit and a request above the maximum',
      { max: { cpu: '1' } },
      { requests: { cpu: '2' } },
      ['container a requests more cpu than the default limit of a LimitRange: set a limit', breaks('max', '1')],
    ],
    [
      'a request above the default limit',
      { default: { cpu: '50m' } },
      { requests: { cpu: '100m' } },
      ['container a requests more cpu than the default limit of a LimitRange: set a limit'],
    ],
    ['a request below the minimum', { min: { cpu: '1' } }, cpu('999m', '2'), [breaks('min', '1')]],
    ['no request, for which the minimum is the default', { min: { cpu: '1' } }, {}, []],
    ['no request, which is the limit', { min: { cpu: '1' } }, { limits: { cpu: '1' } }, []],
    ['a ratio above the most', { maxLimitRequestRatio: { cpu: '2' } }, cpu('100m', '201m'), [breaks('maxLimitRequestRatio', '2')]],
    ['a ratio of the most', { maxLimitRequestRatio: { cpu: '2' } }, cpu('100m', '200m'), []],
    ['no ratio', { maxLimitRequestRatio: { cpu: '2' } }, { requests: { cpu: '1' } }, [breaks('maxLimitRequestRatio', '2')]],
    ['other resources', { max: { memory: '1' } }, cpu('1', '2'), []],
  ])('a LimitRange of containers judges %s', (_, item, resources, expected) => {
    expect(limitRangeViolations(pod(resources), ofContainer(item))).toEqual(expected);
  });

test('a LimitRange of containers holds for init containers', () => {
  const spec = { initContainers: [{ name: 'b', image: 'i', resources: cpu('1', '2') }] };
  expect(limitRangeViolations(pod({}, spec), ofContainer({ max: { cpu: '1' } }))).toEqual([
    breaks('max', '1', 'container b'),
  ]);
});

const [small, large, max] = [{ default: { cpu: '1' } }, { default: { cpu: '3' } }, { max: { cpu: '2' } }];
test.each([
  [[small, large, max], [breaks('max', '2')]],
  [[large, small, max], [breaks('max', '2')]],
  [[small, max], []],
])('any of several LimitRanges may set its default: %j', (items, expected) => {
  expect(limitRangeViolations(pod({}), items.flatMap(ofContainer))).toEqual(expected);
});

const two = (resources: JsonObject, initContainers: JsonObject[] = []) =>
  pod({}, { containers: ['a', 'b'].map((name) => ({ name, resources })), initContainers });

// biome-ignore format: a line for each case
test.each<[string, JsonObject, JsonObject, readonly string[]]>([
    ['the sum of limits', { max: { cpu: '3' } }, two(cpu('1', '2')), [breaks('max', '3', 'the pod')]],
    ['the sum of limits at the most', { max: { cpu: '4' } }, two(cpu('1', '2')), []],
    ['no limit', { max: { cpu: '4' } }, two({ requests: { cpu: '1' } }), [breaks('max', '4', 'the pod')]],
    ['the sum of requests', { min: { cpu: '3' } }, two(cpu('1', '2')), [breaks('min', '3', 'the pod')]],
    ['an init container that needs more', { max: { cpu: '4' } }, two(cpu('1', '2'), [{ name: 'c', resources: cpu('1', '5') }]), [breaks('max', '4', 'the pod')]],
    ['an init container that needs less', { max: { cpu: '4' } }, two(cpu('1', '2'), [{ name: 'c', resources: cpu('1', '4') }]), []],
    ["the pod's own limit", { max: { cpu: '3' } }, pod(cpu('1', '1'), { resources: { limits: { cpu: '4' } } }), [breaks('max', '3', 'the pod')]],
  ])('a LimitRange of pods judges %s', (_, item, given, expected) => {
    expect(limitRangeViolations(given, ofPod(item))).toEqual(expected);
  });

test('a LimitRange of pods counts the defaults of containers', () => {
  const both = range({ type: 'Container', default: { cpu: '1' } }, { type: 'Pod', max: { cpu: '1' } });
  expect(limitRangeViolations(two({}), both)).toEqual([breaks('max', '1', 'the pod')]);
});

test('a LimitRange of storage claims is no matter of pods', () => {
  expect(
    limitRangeViolations(pod({}), range({ type: 'PersistentVolumeClaim', max: { storage: '1' } })),
  ).toEqual([]);
});

/** The field on which two ports collide. */
function collision(a: JsonObject, b: JsonObject): string | undefined {
  const index = new PortIndex<undefined>();
  index.add(undefined, a);
  return index.collisionsOf(b)[0]?.field;
}

const host = (hostPort: number, hostIP?: string) => ({
  containerPort: hostPort + (hostIP?.length ?? 0) + 1000,
  hostPort,
  ...(hostIP !== undefined && { hostIP }),
});

// biome-ignore format: a line for each case
test.each([
    ['the same port', { containerPort: 80 }, { containerPort: 80 }, 'containerPort'],
    ['another port', { containerPort: 80 }, { containerPort: 81 }, undefined],
    ['TCP by default', { containerPort: 80 }, { containerPort: 80, protocol: 'TCP' }, 'containerPort'],
    ['another protocol', { containerPort: 53 }, { containerPort: 53, protocol: 'UDP' }, undefined],
    ['a host port of another protocol', { containerPort: 1, hostPort: 53 }, { containerPort: 2, hostPort: 53, protocol: 'UDP' }, undefined],
    ['no host port', { containerPort: 1 }, { containerPort: 2 }, undefined],
    ['a host port that is 0', { containerPort: 1, hostPort: 0 }, { containerPort: 2, hostPort: 0 }, undefined],
    ['another host port', host(80), host(81), undefined],
    ['a host port on every address', { ...host(80), containerPort: 1 }, host(80), 'hostPort'],
    ['a host port on one address and on every', host(80, '10.0.0.1'), host(80), 'hostPort'],
    ['a host port on every address and on one', host(80), host(80, '10.0.0.1'), 'hostPort'],
    ['a host port on one address and on 0.0.0.0', host(80, '10.0.0.1'), host(80, '0.0.0.0'), 'hostPort'],
    ['a host port on one address and on ::', host(80, '10.0.0.1'), host(80, '::'), 'hostPort'],
    ['a host port on 0.0.0.0 and on ::', host(80, '0.0.0.0'), host(80, '::'), 'hostPort'],
    ['a host port twice on one address', { ...host(80, '10.0.0.1'), containerPort: 1 }, host(80, '10.0.0.1'), 'hostPort'],
    ['a host port on two addresses', { ...host(80, '10.0.0.1'), containerPort: 1 }, host(80, '10.0.0.2'), undefined],
  ])('two ports of one pod collide or not: %s', (_, a, b, want) => {
    expect([collision(a, b), collision(b, a)]).toEqual([want, want]);
  });

test('two ports of one pod are written with their protocol', () => {
  expect(formatPort({ containerPort: 80, hostPort: 8080 })).toBe('80/TCP');
  expect(formatPort({ containerPort: 80, hostPort: 8080, protocol: 'SCTP' }, 'hostPort')).toBe('8080/SCTP');
});

test.each(
  load(`
- [no source and emptyDir, {name: v, emptyDir: null}, {name: v, emptyDir: {}}]
- [a size in another unit, {name: v, emptyDir: {sizeLimit: 1024Mi}}, {name: v, emptyDir: {sizeLimit: 1Gi}}]
- [a fraction of a size, {name: v, emptyDir: {sizeLimit: 0.5Gi}}, {name: v, emptyDir: {sizeLimit: 512Mi}}]
- [the mode of files, {name: v, secret: {secretName: s}}, {name: v, secret: {secretName: s, defaultMode: 420}}]
- [hostPath of no type, {name: v, hostPath: {path: /p}}, {name: v, hostPath: {path: /p, type: ''}}]
- [iscsi, {name: v, iscsi: {targetPortal: p, iqn: i, lun: 0}}, {name: v, iscsi: {targetPortal: p, iqn: i, lun: 0, iscsiInterface: default}}]
- [rbd, {name: v, rbd: {monitors: [m], image: i}}, {name: v, rbd: {monitors: [m], image: i, keyring: /etc/ceph/keyring, pool: rbd, user: admin}}]
- [scaleIO, {name: v, scaleIO: {gateway: g}}, {name: v, scaleIO: {gateway: g, storageMode: ThinProvisioned, fsType: xfs, readOnly: false}}]
- [azureDisk, {name: v, azureDisk: {diskName: d, diskURI: u}}, {name: v, azureDisk: {diskName: d, diskURI: u, cachingMode: ReadWrite, fsType: ext4, kind: Shared, readOnly: false}}]
- [partition 0, {name: v, gcePersistentDisk: {pdName: d, partition: 0}}, {name: v, gcePersistentDisk: {pdName: d}}]
- [a divisor, {name: v, downwardAPI: {items: [{path: p, resourceFieldRef: {resource: limits.cpu, containerName: c}}]}}, {name: v, downwardAPI: {items: [{path: p, resourceFieldRef: {resource: limits.cpu, containerName: c, divisor: '0'}}]}}]
- [a divisor by value, {name: v, downwardAPI: {items: [{path: p, resourceFieldRef: {resource: limits.cpu, containerName: c, divisor: '0.001'}}]}}, {name: v, downwardAPI: {items: [{path: p, resourceFieldRef: {resource: limits.cpu, containerName: c, divisor: 1m}}]}}]
- [a claim, {name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}, {name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, resources: {}}, metadata: {creationTimestamp: null}}}}]
- [storage by value, {name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024}}}}}}, {name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Ki}}}}}}]
- [a token, {name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}, {name: v, projected: {defaultMode: 420, sources: [{serviceAccountToken: {path: t, expirationSeconds: 3600}}]}}]
- [an image without a tag, {name: v, image: {reference: registry:5000/i}}, {name: v, image: {reference: registry:5000/i, pullPolicy: Always}}]
- [an image with the tag latest, {name: v, image: {reference: i:latest}}, {name: v, image: {reference: i:latest, pullPolicy: Always}}]
- [an image with a tag, {name: v, image: {reference: r/i:v1.2}}, {name: v, image: {reference: r/i:v1.2, pullPolicy: IfNotPresent}}]
- [an image with a digest, {name: v, image: {reference: r/i@sha256:0a}}, {name: v, image: {reference: r/i@sha256:0a, pullPolicy: IfNotPresent}}]
- [an image with the tag latest and a digest, {name: v, image: {reference: i:latest@sha256:0a}}, {name: v, image: {reference: i:latest@sha256:0a, pullPolicy: Always}}]
- [unknown fields, {name: v, new: {a: 1}}, {name: v, new: {a: 1}}]`) as [string, JsonObject, JsonObject][],
)('two volumes are the same %s', (_, a, b) => {
  expect(sameVolume(a, b)).toBe(true);
  expect(sameVolume(b, a)).toBe(true);
});

test.each(
  load(`
- [by source, {name: v, emptyDir: {}}, {name: v, downwardAPI: {}}]
- [by an item, {name: v, configMap: {name: a}}, {name: v, configMap: {name: b}}]
- [by items, {name: v, secret: {items: [{key: a, path: b}]}}, {name: v, secret: {}}]
- [by size, {name: v, emptyDir: {sizeLimit: 1Mi}}, {name: v, emptyDir: {sizeLimit: 1M}}]
- [by mode, {name: v, secret: {secretName: s, defaultMode: 0}}, {name: v, secret: {secretName: s}}]
- [by partition, {name: v, gcePersistentDisk: {pdName: d, partition: 1}}, {name: v, gcePersistentDisk: {pdName: d}}]
- [by lun, {name: v, iscsi: {targetPortal: p, iqn: i, lun: 0}}, {name: v, iscsi: {targetPortal: p, iqn: i, lun: 1}}]
- [by storage, {name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}, {name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}}}]
- [by volumeMode, {name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}, {name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], volumeMode: Block}}}}]
- [by selector, {name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}, {name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], selector: {}}}}}]
- [by an empty label, {name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}, metadata: {labels: {a: ''}}}}}, {name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}]
- [by an attribute of csi, {name: v, csi: {driver: d, volumeAttributes: {a: ''}}}, {name: v, csi: {driver: d}}]
- [by pullPolicy, {name: v, image: {reference: i:1}}, {name: v, image: {reference: i:1, pullPolicy: Always}}]
- [by the pullPolicy of latest, {name: v, image: {reference: i}}, {name: v, image: {reference: i, pullPolicy: IfNotPresent}}]
- [by an unknown field, {name: v, new: {a: ''}}, {name: v, new: {}}]`) as [string, JsonObject, JsonObject][],
)('two volumes differ %s', (_, a, b) => {
  expect(sameVolume(a, b)).toBe(false);
  expect(sameVolume(b, a)).toBe(false);
});

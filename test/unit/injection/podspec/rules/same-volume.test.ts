import { describe, expect, test } from '@jest/globals';
import { sameVolume } from '../../../../../src/injection/podspec/rules/same-volume.ts';
import type { JsonObject } from '../../../../../src/util/json.ts';

const volume = (source: JsonObject): JsonObject => ({ name: 'v', ...source });
const claim = (spec: JsonObject, more: JsonObject = {}) =>
  volume({
    ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], ...spec }, ...more } },
  });
const storage = (quantity: string | number) => claim({ resources: { requests: { storage: quantity } } });
const image = (reference: string, pullPolicy?: string) =>
  volume({ image: { reference, ...(pullPolicy !== undefined && { pullPolicy }) } });
const limits = (more: JsonObject) =>
  volume({
    downwardAPI: {
      items: [{ path: 'p', resourceFieldRef: { resource: 'limits.cpu', containerName: 'c', ...more } }],
    },
  });
const iscsi = { targetPortal: 'p', iqn: 'i', lun: 0 };
const disk = { diskName: 'd', diskURI: 'u' };

describe('two volumes are the same', () => {
  test.each<[string, JsonObject, JsonObject]>([
    ['no source and emptyDir', volume({ emptyDir: null }), volume({ emptyDir: {} })],
    [
      'a size in another unit',
      volume({ emptyDir: { sizeLimit: '1024Mi' } }),
      volume({ emptyDir: { sizeLimit: '1Gi' } }),
    ],
    [
      'a fraction of a size',
      volume({ emptyDir: { sizeLimit: '0.5Gi' } }),
      volume({ emptyDir: { sizeLimit: '512Mi' } }),
    ],
    [
      'the mode of files',
      volume({ secret: { secretName: 's' } }),
      volume({ secret: { secretName: 's', defaultMode: 420 } }),
    ],
    [
      'hostPath of no type',
      volume({ hostPath: { path: '/p' } }),
      volume({ hostPath: { path: '/p', type: '' } }),
    ],
    ['iscsi', volume({ iscsi }), volume({ iscsi: { ...iscsi, iscsiInterface: 'default' } })],
    [
      'rbd',
      volume({ rbd: { monitors: ['m'], image: 'i' } }),
      volume({
        rbd: { monitors: ['m'], image: 'i', keyring: '/etc/ceph/keyring', pool: 'rbd', user: 'admin' },
      }),
    ],
    [
      'scaleIO',
      volume({ scaleIO: { gateway: 'g' } }),
      volume({ scaleIO: { gateway: 'g', storageMode: 'ThinProvisioned', fsType: 'xfs', readOnly: false } }),
    ],
    [
      'azureDisk',
      volume({ azureDisk: disk }),
      volume({
        azureDisk: { ...disk, cachingMode: 'ReadWrite', fsType: 'ext4', kind: 'Shared', readOnly: false },
      }),
    ],
    [
      'partition 0',
      volume({ gcePersistentDisk: { pdName: 'd', partition: 0 } }),
      volume({ gcePersistentDisk: { pdName: 'd' } }),
    ],
    ['a divisor', limits({}), limits({ divisor: '0' })],
    ['a divisor by value', limits({ divisor: '0.001' }), limits({ divisor: '1m' })],
    [
      'a claim',
      claim({}),
      claim({ volumeMode: 'Filesystem', resources: {} }, { metadata: { creationTimestamp: null } }),
    ],
    ['storage by value', storage(1024), storage('1Ki')],
    [
      'a token',
      volume({ projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }),
      volume({
        projected: {
          defaultMode: 420,
          sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }],
        },
      }),
    ],
    ['an image without a tag', image('registry:5000/i'), image('registry:5000/i', 'Always')],
    ['an image with the tag latest', image('i:latest'), image('i:latest', 'Always')],
    ['an image with a tag', image('r/i:v1.2'), image('r/i:v1.2', 'IfNotPresent')],
    ['an image with a digest', image('r/i@sha256:0a'), image('r/i@sha256:0a', 'IfNotPresent')],
    [
      'an image with the tag latest and a digest',
      image('i:latest@sha256:0a'),
      image('i:latest@sha256:0a', 'Always'),
    ],
    ['unknown fields', volume({ new: { a: 1 } }), volume({ new: { a: 1 } })],
  ])('%s', (_, a, b) => {
    expect(sameVolume(a, b)).toBe(true);
    expect(sameVolume(b, a)).toBe(true);
  });
});

describe('two volumes differ', () => {
  test.each<[string, JsonObject, JsonObject]>([
    ['by source', volume({ emptyDir: {} }), volume({ downwardAPI: {} })],
    ['by an item', volume({ configMap: { name: 'a' } }), volume({ configMap: { name: 'b' } })],
    ['by items', volume({ secret: { items: [{ key: 'a', path: 'b' }] } }), volume({ secret: {} })],
    ['by size', volume({ emptyDir: { sizeLimit: '1Mi' } }), volume({ emptyDir: { sizeLimit: '1M' } })],
    [
      'by mode',
      volume({ secret: { secretName: 's', defaultMode: 0 } }),
      volume({ secret: { secretName: 's' } }),
    ],
    [
      'by partition',
      volume({ gcePersistentDisk: { pdName: 'd', partition: 1 } }),
      volume({ gcePersistentDisk: { pdName: 'd' } }),
    ],
    ['by lun', volume({ iscsi }), volume({ iscsi: { ...iscsi, lun: 1 } })],
    ['by storage', storage('1Gi'), storage('2Gi')],
    ['by volumeMode', claim({}), claim({ volumeMode: 'Block' })],
    ['by selector', claim({}), claim({ selector: {} })],
    ['by an empty label', claim({}, { metadata: { labels: { a: '' } } }), claim({})],
    [
      'by an attribute of csi',
      volume({ csi: { driver: 'd', volumeAttributes: { a: '' } } }),
      volume({ csi: { driver: 'd' } }),
    ],
    ['by pullPolicy', image('i:1'), image('i:1', 'Always')],
    ['by the pullPolicy of latest', image('i'), image('i', 'IfNotPresent')],
    ['by an unknown field', volume({ new: { a: '' } }), volume({ new: {} })],
  ])('%s', (_, a, b) => {
    expect(sameVolume(a, b)).toBe(false);
    expect(sameVolume(b, a)).toBe(false);
  });
});

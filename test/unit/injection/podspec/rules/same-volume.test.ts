import { describe, expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { sameVolume } from '../../../../../src/injection/podspec/rules/same-volume.ts';
import type { JsonObject } from '../../../../../src/util/json.ts';

describe('two volumes are the same', () => {
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
  )('%s', (_, a, b) => {
    expect(sameVolume(a, b)).toBe(true);
    expect(sameVolume(b, a)).toBe(true);
  });
});

describe('two volumes differ', () => {
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
  )('%s', (_, a, b) => {
    expect(sameVolume(a, b)).toBe(false);
    expect(sameVolume(b, a)).toBe(false);
  });
});

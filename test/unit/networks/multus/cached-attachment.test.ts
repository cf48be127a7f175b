import { describe, expect, test } from '@jest/globals';
import jsonpatch, { type Operation } from 'fast-json-patch';
import type { NetworkAttachmentDefinition } from '../../../../src/networks/api/resources.ts';
import { cachedAttachment } from '../../../../src/networks/multus/cached-attachment.ts';
import { attachmentFor, isMadeFor } from '../../../../src/networks/multus/multus-attachment.ts';
import { disownmentOf, repairOf } from '../../../../src/networks/multus/multus-repair.ts';
import { newNetwork } from '../networks.ts';

const LONG = 'x'.repeat(250_000);
const network = newNetwork();
const wanted = attachmentFor(network, 1450);
const stored: NetworkAttachmentDefinition = {
  ...wanted,
  metadata: { ...wanted.metadata, uid: 'uid-of-nad', resourceVersion: '7' },
};

function patched(object: NetworkAttachmentDefinition, operations: readonly Operation[]) {
  return jsonpatch.applyPatch(structuredClone(object), structuredClone([...operations]), true).newDocument;
}

describe('cachedAttachment of an own definition', () => {
  test("keeps the operator's parts", () => {
    const { apiVersion, kind, ...kept } = stored;
    expect(cachedAttachment(stored)).toStrictEqual(kept);
    expect(repairOf(cachedAttachment(stored), wanted)).toEqual([]);
    expect(isMadeFor(cachedAttachment(stored), network)).toBe(true);
  });

  test('drops foreign parts', () => {
    const { labels, annotations } = stored.metadata;
    const metadata = {
      ...stored.metadata,
      labels: { ...labels, team: 'net' },
      annotations: { ...annotations, note: LONG },
      managedFields: [{ manager: LONG }],
    };
    expect(cachedAttachment({ ...stored, metadata })).toEqual(cachedAttachment(stored));
  });

  test.each<[string, Partial<NetworkAttachmentDefinition['metadata']>]>([
    ['labels', { labels: { team: 'net' } }],
    ['annotations', { annotations: { note: LONG } }],
    ['no labels', {}],
  ])('keeps enough for a repair that does not touch foreign parts: %s', (_, others) => {
    const { labels, annotations, ...metadata } = stored.metadata;
    const edited = { ...stored, metadata: { ...metadata, ...others } };
    const repaired = patched(edited, repairOf(cachedAttachment(edited), wanted)).metadata;
    expect(repaired.labels).toEqual({ ...others.labels, ...labels });
    expect(repaired.annotations).toEqual({ ...others.annotations, ...annotations });
  });

  test.each<[string, NetworkAttachmentDefinition]>([
    ['a configuration', { ...stored, spec: { config: LONG } }],
    [
      'annotations',
      {
        ...stored,
        metadata: {
          ...stored.metadata,
          annotations: { 'samplecrd.k8s.io/network-uid': LONG },
        },
      },
    ],
  ])('drops a long edit, which a repair then undoes: %s', (_, edited) => {
    expect(JSON.stringify(cachedAttachment(edited)).length).toBeLessThan(2_000);
    expect(patched(edited, repairOf(cachedAttachment(edited), wanted))).toEqual(stored);
  });

  test('keeps enough for a release', () => {
    const left = patched(stored, disownmentOf(cachedAttachment(stored))).metadata;
    expect(left).toMatchObject({ finalizers: [], ownerReferences: [] });
  });
});

test.each<[string, NetworkAttachmentDefinition]>([
  ['no spec', { metadata: { name: 'a' } }],
  ['no configuration', { metadata: { name: 'a' }, spec: {} }],
  [
    'its own configuration',
    { metadata: { name: 'a', deletionTimestamp: '2026-01-01T00:00:00Z' }, spec: { config: '{}' } },
  ],
])('cachedAttachment of a foreign definition with %s keeps the same fields', (_, theirs) => {
  expect(cachedAttachment(theirs)).toStrictEqual(theirs);
});

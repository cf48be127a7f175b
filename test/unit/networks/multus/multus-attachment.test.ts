import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import jsonpatch, { type Operation } from 'fast-json-patch';
import type { OwnerReference } from '../../../../src/kube/api/object.ts';
import { NETWORK_FINALIZER } from '../../../../src/networks/api/names.ts';
import type { NetworkAttachmentDefinition } from '../../../../src/networks/api/resources.ts';
import { bridgeName } from '../../../../src/networks/multus/cni-config.ts';
import { attachmentFor, isMadeFor, networkOwner } from '../../../../src/networks/multus/multus-attachment.ts';
import { disownmentOf, repairOf, undoesAnEdit } from '../../../../src/networks/multus/multus-repair.ts';
import { newNetwork } from '../networks.ts';

const network = newNetwork();
const wanted = attachmentFor(network, 1450);

const OLD_TEXT = JSON.stringify({
  plugins: [{ type: 'bridge', bridge: bridgeName('default/example-network'), ipam: { ranges: [] } }],
});

/** The created attachment as the API server returns it. */
const stored: NetworkAttachmentDefinition = {
  ...wanted,
  metadata: { ...wanted.metadata, uid: 'uid-of-nad', resourceVersion: '7' },
};

function patched(
  object: NetworkAttachmentDefinition,
  operations: readonly Operation[],
): NetworkAttachmentDefinition {
  return jsonpatch.applyPatch(structuredClone(object), structuredClone([...operations]), true).newDocument;
}

describe('the attachment of a Network', () => {
  test('is a bridge without a range, and with addresses from the annotation of the pod', () => {
    expect(JSON.parse(wanted.spec.config)).toEqual({
      cniVersion: '1.0.0',
      name: 'default.example-network',
      plugins: [
        {
          type: 'bridge',
          bridge: 'nw-2ce508fbf422',
          isGateway: false,
          ipMasq: false,
          hairpinMode: true,
          mtu: 1450,
          capabilities: { ips: true, mac: true },
          ipam: { type: 'envoy-initializer-ipam' },
        },
      ],
    });
  });

  test('lets pods of other namespaces get addresses only if it is shared', () => {
    const { config } = attachmentFor(network, 1450, true).spec;
    expect(config.replace('"shared":true,', '')).toBe(wanted.spec.config);
    expect(wanted.spec.config).not.toContain('shared');
  });

  test('has the same text each time, so that an equal text needs no change', () => {
    expect(attachmentFor(newNetwork(), 1450).spec.config).toBe(wanted.spec.config);
  });

  test('has the Network as owner, and the finalizer', () => {
    expect(wanted.metadata).toMatchObject({
      name: 'example-network',
      namespace: 'default',
      finalizers: [NETWORK_FINALIZER],
      labels: { 'samplecrd.k8s.io/network': 'example-network' },
      ownerReferences: [
        {
          apiVersion: 'samplecrd.k8s.io/v1',
          kind: 'Network',
          uid: 'uid-of-example-network',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    });
  });
});

describe('the bridge', () => {
  test('has a name that Linux accepts, for any key', () => {
    fc.assert(
      fc.property(fc.string(), (key) => {
        expect(bridgeName(key)).toMatch(/^nw-[0-9a-f]{12}$/);
      }),
    );
  });

  test('has another name for another Network', () => {
    expect(bridgeName('a/b')).not.toBe(bridgeName('b/a'));
  });
});

describe('a repair', () => {
  test('is empty without differences', () => {
    expect(repairOf(stored, wanted)).toEqual([]);
  });

  test.each<[string, NetworkAttachmentDefinition]>([
    ['an edited configuration', { ...stored, spec: { config: '{}' } }],
    ['a removed configuration', { ...stored, spec: {} }],
    ['a removed spec', withoutSpec()],
    ['removed labels', without('labels')],
    [
      'a changed label',
      { ...stored, metadata: { ...stored.metadata, labels: { 'samplecrd.k8s.io/network': 'x' } } },
    ],
    ['removed annotations', without('annotations')],
    ['a removed finalizer', without('finalizers')],
    ['a removed owner', without('ownerReferences')],
    ['an empty list of owners', { ...stored, metadata: { ...stored.metadata, ownerReferences: [] } }],
    ['one more key', { ...stored, spec: { config: wanted.spec.config.replace('{', '{"disableGC":true,') } }],
    [
      'an owner that no longer controls',
      {
        ...stored,
        metadata: {
          ...stored.metadata,
          ownerReferences: wanted.metadata.ownerReferences.map((owner) => ({ ...owner, controller: false })),
        },
      },
    ],
  ])('undoes %s', (_, edited) => {
    const repaired = patched(edited, repairOf(edited, wanted));
    expect(repaired).toEqual(stored);
    expect(repairOf(repaired, wanted)).toEqual([]);
  });

  test('keeps the same JSON with other spacing', () => {
    const config = JSON.stringify(JSON.parse(wanted.spec.config), null, 2);
    expect(repairOf({ ...stored, spec: { config } }, wanted)).toEqual([]);
  });

  test('does not count as undoing an edit if it adds what an earlier release did not write', () => {
    const { 'samplecrd.k8s.io/network-uid': _, ...annotations } = wanted.metadata.annotations;
    const older = { ...stored, metadata: { ...stored.metadata, annotations } };
    expect(patched(older, repairOf(older, wanted))).toEqual(stored);
    expect(undoesAnEdit(repairOf(older, wanted))).toBe(false);
    const edited = { ...older, spec: { config: '{}' } };
    expect(undoesAnEdit(repairOf(edited, wanted))).toBe(true);
  });

  test('restores the configuration from any bytes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), fc.string(), (config, note) => {
        const annotations = { 'samplecrd.k8s.io/network-uid': note };
        const edited = { ...stored, spec: { config }, metadata: { ...stored.metadata, annotations } };
        expect(patched(edited, repairOf(edited, wanted))).toEqual(stored);
      }),
    );
  });

  test('keeps foreign parts', () => {
    const edited: NetworkAttachmentDefinition = {
      ...stored,
      spec: { config: 'edited' },
      metadata: {
        ...stored.metadata,
        labels: { team: 'net' },
        annotations: { note: 'mine' },
        finalizers: ['example.org/theirs'],
      },
    };
    expect(patched(edited, repairOf(edited, wanted)).metadata).toMatchObject({
      labels: { team: 'net', ...wanted.metadata.labels },
      annotations: { note: 'mine', ...wanted.metadata.annotations },
      finalizers: ['example.org/theirs', NETWORK_FINALIZER],
    });
  });

  test('does not touch another attachment of the same name', () => {
    const edited = { ...stored, spec: { config: 'edited' } };
    const another = { ...stored, metadata: { ...stored.metadata, uid: 'another' } };
    expect(() => patched(another, repairOf(edited, wanted))).toThrow('Test operation failed');
  });
});

describe('an attachment belongs to the Network', () => {
  const withOwners = (...ownerReferences: readonly OwnerReference[]) => ({
    ...stored,
    metadata: { ...stored.metadata, ownerReferences },
  });
  const [owner] = wanted.metadata.ownerReferences;
  if (!owner) throw new Error('it has an owner');
  const earlier = { ...owner, uid: 'earlier' };

  test.each([
    ['that owns it', stored],
    ['whose UID it has, without an owner', without('ownerReferences')],
    ['whose bridge its text names, without owner and UID', stripped(wanted.spec.config)],
    ['whose bridge its text of an earlier release names', stripped(OLD_TEXT)],
    ['whose UID it has, with another owner', withOwners({ ...earlier, kind: 'Team', controller: false })],
  ])('%s', (_, attachment) => {
    expect(isMadeFor(attachment, network)).toBe(true);
  });

  test.each([
    ['an earlier Network of its name owns it', withOwners(earlier)],
    ['something else controls it', withOwners({ ...earlier, kind: 'Team' })],
    ['it has neither owner nor UID, and another text', stripped('{"type":"macvlan"}')],
    [
      'it names the bridge of another Network',
      stripped(attachmentFor(newNetwork({ name: 'other' }), 1450).spec.config),
    ],
    ['an earlier Network of its name left it behind', withUid('earlier')],
  ])('but not if %s', (_, attachment) => {
    expect(isMadeFor(attachment, network)).toBe(false);
  });
});

test('a Network that has been realised takes back a definition with its text and a forged UID', () => {
  const { cidr, gateway } = network.spec;
  expect(isMadeFor(withUid('earlier'), newNetwork({ status: { cidr, gateway } }))).toBe(true);
});

describe('a retained attachment', () => {
  test("loses the operator's owner and finalizer, and keeps foreign ones", () => {
    const shared = {
      ...stored,
      metadata: { ...stored.metadata, finalizers: ['example.org/theirs', NETWORK_FINALIZER] },
    };
    const left = patched(shared, disownmentOf(shared));
    expect(left.metadata.finalizers).toEqual(['example.org/theirs']);
    expect(networkOwner(left)).toBeUndefined();
    expect(left.metadata.labels).toEqual({ 'samplecrd.k8s.io/network': 'example-network' });
    expect(left.spec).toEqual(stored.spec);
  });

  test('is patched only once', () => {
    const left = patched(stored, disownmentOf(stored));
    expect(disownmentOf(left)).toEqual([]);
  });
});

function withUid(uid: string): NetworkAttachmentDefinition {
  const { ownerReferences: _, ...metadata } = stored.metadata;
  return { ...stored, metadata: { ...metadata, annotations: { 'samplecrd.k8s.io/network-uid': uid } } };
}

function without(
  field: 'labels' | 'annotations' | 'finalizers' | 'ownerReferences',
): NetworkAttachmentDefinition {
  const { [field]: _, ...metadata } = stored.metadata;
  return { ...stored, metadata };
}

/** With this text, and without the marks of the operator. */
function stripped(config: string): NetworkAttachmentDefinition {
  const { annotations: _, ownerReferences: __, ...metadata } = stored.metadata;
  return { ...stored, metadata, spec: { config } };
}

function withoutSpec(): NetworkAttachmentDefinition {
  const { spec: _, ...rest } = stored;
  return rest;
}

import { X509Certificate } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { defaultLifetimes } from '../../../src/certificates/rotation.ts';
import { readCertificates } from '../../../src/certificates/x509/certificate.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import {
  type CertificateStage,
  certificateStage,
  SECRET_NAME,
  webhooksAt,
} from '../../support/certificates/certificate-stage.ts';
import { PodTraffic, RoundRobin } from '../../support/certificates/pod-traffic.ts';
import { WebhookReplica, type WebhookReplicaOptions } from '../../support/certificates/webhook-replica.ts';
import { capturedLog } from '../../support/kube/captured-log.ts';

let controlPlane: ControlPlane;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  controlPlane = await startControlPlane();
}, 60_000);

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

afterAll(() => controlPlane.stop());

/** An authority and what it signs are short-lived enough to see them replaced. */
const quick = { authorityMs: 12_000, leafMs: 9_000, skewMs: 3_000, settleMs: 500 };
/** Those of a cluster, but API servers are believed to notice at once: there is one, and it is near. */
const usual = { ...defaultLifetimes, settleMs: 500 };

async function newStage(name: string): Promise<CertificateStage> {
  const stage = await certificateStage(controlPlane, name);
  cleanups.push(() => stage.close());
  return stage;
}

function newReplica(stage: CertificateStage, options: Partial<WebhookReplicaOptions> = {}) {
  const { log, lines } = capturedLog();
  const replica = new WebhookReplica({ stage, log, lifetimes: usual, ...options });
  cleanups.push(() => replica.stop());
  return Object.assign(replica, { lines });
}

/**
 * Three replicas behind one address, the first of which leads and the last of which lags, and a configuration by
 * which pods come to them.
 */
async function newService(stage: CertificateStage, options: Partial<WebhookReplicaOptions> = {}) {
  const replicas = [0, 50, 400].map((lagMs) => {
    return newReplica(stage, { ...options, lagMs, freshConnections: true });
  });
  const service = new RoundRobin(() => replicas.map(({ port }) => port));
  cleanups.push(() => service.close());
  const manifest = webhooksAt(stage.name, await service.listen());
  await stage.kubectl(['apply', '-f', '-'], manifest);
  await Promise.all(replicas.map((replica, i) => replica.start({ leads: i === 0 })));
  const traffic = new PodTraffic(stage.admin, stage.name);
  cleanups.push(() => traffic.stop());
  await eventually('a pod is admitted', async () => (await traffic.createOne()) === undefined);
  const [leader] = replicas;
  if (!leader) throw new Error('there are three');
  return { replicas, leader, service, manifest, traffic };
}

async function inSync(stage: CertificateStage): Promise<boolean> {
  const bundle = await stage.secretValue('ca.crt');
  return (await stage.caBundles()).every((held) => held === bundle);
}

describe('certificates', () => {
  test('are made once, however many replicas start at once, and before any of them leads', async () => {
    const stage = await newStage('at-once');
    const replicas = Array.from({ length: 5 }, () => newReplica(stage));
    await Promise.all(replicas.map((replica) => replica.start()));
    const served = replicas.flatMap(({ keyPairs }) => keyPairs.map(({ cert }) => cert));
    expect(served).toHaveLength(5);
    expect(new Set(served)).toEqual(new Set([await stage.secretValue('tls.crt')]));
    expect(readCertificates(await stage.secretValue('ca.crt'))).toHaveLength(1);
    const makers = replicas.filter(({ lines }) => lines.some(({ msg }) => msg === 'certificates created'));
    expect(makers).toHaveLength(1);
  });

  test('go through five authorities in a minute, and no pod is refused', async () => {
    const stage = await newStage('five-rotations');
    const { replicas, leader, service, traffic } = await newService(stage, { lifetimes: quick });
    const connectionsBefore = service.connections;
    traffic.start();
    await leader.until(() => leader.authorityRotations >= 5);
    await traffic.stop();
    expect(traffic.refusals).toEqual([]);
    expect(traffic.admitted).toBeGreaterThan(100);
    // Two webhooks a pod, and each call has looked at the certificate anew.
    expect(service.connections - connectionsBefore).toBeGreaterThanOrEqual(2 * traffic.admitted);
    for (const { keyPairs } of replicas) expect(keyPairs.length).toBeGreaterThanOrEqual(6);
    const issuers = leader.keyPairs.map(({ cert }) => new X509Certificate(cert).issuer);
    expect(new Set(issuers).size).toBeGreaterThanOrEqual(6);
    expect(readCertificates(await stage.secretValue('ca.crt')).length).toBeLessThanOrEqual(4);
  }, 150_000);

  test('are replaced, authority and all, when the Secret is deleted, and no pod is refused', async () => {
    const stage = await newStage('deleted-secret');
    const { replicas, leader, traffic } = await newService(stage);
    const first = await stage.secretValue('tls.crt');
    traffic.start();
    await stage.kubectl(['delete', 'secret', SECRET_NAME, '-n', stage.name]);
    await leader.until(() => leader.authorityRotations >= 1);
    for (const replica of replicas) await replica.until(() => replica.keyPairs.length >= 2);
    await eventually('more pods have come', async () => traffic.admitted > 50);
    await traffic.stop();
    expect(traffic.refusals).toEqual([]);
    expect(await stage.secretValue('tls.crt')).not.toBe(first);
  }, 60_000);
});

describe('readiness', () => {
  test('waits for the API server to trust what is served, and no longer', async () => {
    const stage = await newStage('readiness');
    const replica = newReplica(stage);
    expect(replica.certificates.failure()).toBe('the Secret has no certificate yet');
    await stage.kubectl(['apply', '-f', '-'], webhooksAt(stage.name, 1));
    await replica.start();
    await eventually('the configuration is seen', async () => {
      return replica.certificates.failure() === 'a webhook configuration does not have our caBundle yet';
    });
    const leader = newReplica(stage);
    await leader.start({ leads: true });
    await eventually('it is ready', async () => replica.certificates.failure() === undefined);
    expect(await inSync(stage)).toBe(true);
    await stage.kubectl(['delete', 'secret', SECRET_NAME, '-n', stage.name]);
    expect(replica.certificates.failure()).toBeUndefined();
  }, 30_000);
});

describe('the caBundle', () => {
  test.each([
    ['is taken out', [{ op: 'remove', path: '/webhooks/1/clientConfig/caBundle' }]],
    ['is changed', [{ op: 'replace', path: '/webhooks/0/clientConfig/caBundle', value: btoa('rubbish') }]],
  ])(
    'is restored when it %s',
    async (what, operations) => {
      const stage = await newStage(what.replaceAll(' ', '-'));
      const { traffic } = await newService(stage);
      await eventually('it is in sync', () => inSync(stage));
      const patch = ['patch', 'mutatingwebhookconfiguration', stage.name, '--type=json', '-p'];
      await stage.kubectl([...patch, JSON.stringify(operations)]);
      await eventually('it is in sync again', () => inSync(stage));
      await eventually('a pod is admitted', async () => (await traffic.createOne()) === undefined);
    },
    30_000,
  );

  test('is written to a configuration that comes later, or again', async () => {
    const stage = await newStage('later');
    const { manifest, traffic } = await newService(stage);
    await stage.kubectl(['delete', 'mutatingwebhookconfiguration', stage.name]);
    await stage.kubectl(['apply', '-f', '-'], manifest);
    await eventually('it is in sync', () => inSync(stage));
    await eventually('a pod is admitted', async () => (await traffic.createOne()) === undefined);
  }, 30_000);

  test.each([
    ['client-side', []],
    ['server-side', ['--server-side']],
  ])(
    'outlives a manifest that is applied again, %s, and does not hold a webhook that leaves it',
    async (how, flags) => {
      const stage = await newStage(`apply-${how}`);
      const manifest = webhooksAt(stage.name, 1);
      const apply = (applied: unknown) => stage.kubectl(['apply', ...flags, '-f', '-'], applied);
      await apply(manifest);
      await newReplica(stage).start({ leads: true });
      await eventually('the namespace owns it', async () => {
        return (await stage.configuration()).metadata.ownerReferences?.length === 1;
      });
      const before = await stage.configuration();
      expect(await inSync(stage)).toBe(true);

      await apply(manifest);
      const { metadata, webhooks } = await stage.configuration();
      expect(webhooks).toEqual(before.webhooks);
      expect(metadata.ownerReferences).toEqual(before.metadata.ownerReferences);

      await apply({ ...manifest, webhooks: manifest.webhooks.slice(0, 1) });
      expect((await stage.configuration()).webhooks).toEqual(before.webhooks?.slice(0, 1));
    },
    30_000,
  );

  test('is all that we own of it, besides its owner', async () => {
    const stage = await newStage('managed-fields');
    await stage.kubectl(['apply', '--server-side', '-f', '-'], webhooksAt(stage.name, 1));
    await newReplica(stage).start({ leads: true });
    const get = ['get', 'mutatingwebhookconfiguration', stage.name, '--show-managed-fields', '-o', 'json'];
    await eventually('the namespace owns it', async () => {
      return (await stage.configuration()).metadata.ownerReferences?.length === 1;
    });
    const { metadata } = JSON.parse(await stage.kubectl(get));
    const ours = metadata.managedFields.filter(
      ({ manager }: { manager: string }) => manager === 'envoy-initializer-ca',
    );
    const [{ uid }] = metadata.ownerReferences;
    const bundle = { 'f:clientConfig': { 'f:caBundle': {} } };
    expect(ours.map(({ fieldsV1 }: { fieldsV1: unknown }) => fieldsV1)).toEqual([
      {
        'f:metadata': { 'f:ownerReferences': { '.': {}, [`k:{"uid":"${uid}"}`]: {} } },
        'f:webhooks': {
          'k:{"name":"first.example.com"}': bundle,
          'k:{"name":"second.example.com"}': bundle,
        },
      },
    ]);
  });
});

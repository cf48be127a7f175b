import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createAuthority, issueCertificate } from '../../../src/certificates/x509/authority.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import {
  type CertificateStage,
  certificateStage,
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

type Files = NonNullable<WebhookReplicaOptions['files']>;

/** What cert-manager writes into its Secret. */
async function issuedFiles(): Promise<Files> {
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 600_000) };
  const authority = await createAuthority({ commonName: 'cert-manager', ...validity });
  const { certPem: cert, keyPem: key } = await issueCertificate(authority, {
    commonName: 'webhook',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
    ...validity,
  });
  return { cert, key, authorities: authority.certPem };
}

interface Generation {
  readonly template: string;
  readonly files?: Files;
}

/** A Deployment whose pods exist in the API server, and whose replicas run here. The first replica leads. */
async function deployment(stage: CertificateStage, generation: Generation) {
  const ports: number[] = [];
  const service = new RoundRobin(() => ports);
  cleanups.push(() => service.close());
  await stage.kubectl(['apply', '-f', '-'], webhooksAt(stage.name, await service.listen()));
  const traffic = new PodTraffic(stage.admin, stage.name);

  /** Starts a replica, and sends calls to it once it is ready. What it returns ends it. */
  async function scaleUp({ template, files }: Generation) {
    const name = `operator-${template}`;
    await stage.kubectl(['apply', '-f', '-'], {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace: stage.name,
        labels: { app: 'envoy-initializer', 'pod-template-hash': template },
      },
      spec: { serviceAccountName: 'operator', containers: [{ name: 'operator', image: 'operator' }] },
    });
    const { log } = capturedLog();
    const replica = new WebhookReplica({ stage, log, freshConnections: true, ...(files && { files }) });
    cleanups.push(() => replica.stop());
    const isFirst = ports.length === 0;
    await replica.start({ leads: isFirst });
    await eventually('the replica is ready', async () => replica.certificates.failure() === undefined);
    // The endpoints of a Service follow readiness later.
    const before = traffic.admitted;
    if (!isFirst) await eventually('more pods are admitted', async () => traffic.admitted > before + 20);
    ports.push(replica.port);
    return {
      replica,
      async scaleDown() {
        ports.splice(ports.indexOf(replica.port), 1);
        // An operator waits for its shutdown delay: a port that closes resets connections it has not accepted yet.
        await traffic.answered();
        await replica.stop();
        await stage.kubectl(['delete', 'pod', name, '-n', stage.name]);
      },
    };
  }

  const old = await scaleUp(generation);
  cleanups.push(() => traffic.stop());
  await eventually('a pod is admitted', async () => (await traffic.createOne()) === undefined);
  traffic.start();
  return { old, scaleUp, traffic };
}

async function more(traffic: PodTraffic): Promise<void> {
  const before = traffic.admitted;
  await eventually('more pods are admitted', async () => traffic.admitted > before + 20);
}

describe('a rollout that changes the authority', () => {
  test.each([
    ['leaves cert-manager', 'leave', true],
    ['enters cert-manager', 'enter', false],
  ])(
    '%s, and no pod is refused',
    async (_, name, isLeaving) => {
      const stage = await certificateStage(controlPlane, name);
      cleanups.push(() => stage.close());
      const files = await issuedFiles();
      const [from, to] = isLeaving
        ? [{ template: 'old', files }, { template: 'new' }]
        : [{ template: 'old' }, { template: 'new', files }];
      const { old, scaleUp, traffic } = await deployment(stage, from);
      const first = await stage.caBundles();

      const { replica } = await scaleUp(to);
      await more(traffic);
      const [both = ''] = await stage.caBundles();
      const own = await stage.secretValue('ca.crt');
      expect(both).toContain(files.authorities);
      expect(both).toContain(own);

      await old.scaleDown();
      replica.lead();
      const last = isLeaving ? own : files.authorities;
      await eventually('the old authority is gone', async () =>
        (await stage.caBundles()).every((bundle) => bundle === last),
      );
      await more(traffic);
      await traffic.stop();
      expect(first).toEqual(isLeaving ? [files.authorities, files.authorities] : [own, own]);
      expect(traffic.refusals).toEqual([]);
    },
    120_000,
  );

  test('goes on when the next leader takes over in the middle', async () => {
    const stage = await certificateStage(controlPlane, 'middle');
    cleanups.push(() => stage.close());
    const files = await issuedFiles();
    const { old, scaleUp, traffic } = await deployment(stage, { template: 'old', files });
    const { replica } = await scaleUp({ template: 'new' });
    // The old replica leads no more, but serves.
    replica.lead();
    const own = await stage.secretValue('ca.crt');
    await eventually('the new leader has written the caBundle', async () =>
      (await stage.caBundles()).every((bundle) => bundle === `${own}${files.authorities}`),
    );
    await more(traffic);
    await old.scaleDown();
    await eventually('the old authority is gone', async () =>
      (await stage.caBundles()).every((bundle) => bundle === own),
    );
    await traffic.stop();
    expect(traffic.refusals).toEqual([]);
  }, 120_000);

  test('drops an authority that no replica may serve, at once', async () => {
    const stage = await certificateStage(controlPlane, 'stranger');
    cleanups.push(() => stage.close());
    await deployment(stage, { template: 'old' });
    const { authorities } = await issuedFiles();
    const own = await stage.secretValue('ca.crt');
    const value = btoa(`${own}${authorities}`);
    const operation = [{ op: 'replace', path: '/webhooks/0/clientConfig/caBundle', value }];
    await stage.kubectl([
      'patch',
      'mutatingwebhookconfiguration',
      stage.name,
      '--type=json',
      '-p',
      JSON.stringify(operation),
    ]);
    await eventually('it is gone', async () => (await stage.caBundles()).every((bundle) => bundle === own));
    expect(await stage.caBundles()).toEqual([own, own]);
  }, 60_000);
});

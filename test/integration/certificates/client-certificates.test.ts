import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { CertificateAndKey } from '../../../src/certificates/x509/authority.ts';
import { freePorts } from '../../env/control-plane/free-ports.ts';
import { eventually } from '../../env/eventually.ts';
import { podReview } from '../../support/injection/admission-review.ts';
import { HttpsClient } from '../../support/kube/https-client.ts';
import { type TestAuthority, testAuthority } from '../../support/kube/test-authority.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

const REFUSED = 'refused';

let directory: string;
let caFile: string;
let port: number;
let authority: TestAuthority;
let other: TestAuthority;
let fixture: OperatorFixture;

/** Starts an API server that shows the webhook a certificate, as docs/security.md has it. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'client-certificates-'));
  caFile = join(directory, 'ca.crt');
  [port = 0] = await freePorts(1);
  [authority, other] = [await testAuthority(), await testAuthority()];
  await writeFile(caFile, authority.caPem);
  const kubeConfigFile = join(directory, 'webhooks.kubeconfig');
  await writeFile(kubeConfigFile, kubeconfigOf(await authority.client('kube-apiserver')));
  const admission = join(directory, 'admission.json');
  await writeFile(admission, admissionConfiguration(kubeConfigFile));
  fixture = await startOperatorFixture({
    port,
    extraApiServerArgs: [`--admission-control-config-file=${admission}`],
    args: [`--client-ca-file=${caFile}`],
  });
});

afterAll(async () => {
  await fixture?.stop();
  await rm(directory, { recursive: true });
});

function kubeconfigOf({ certPem, keyPem }: CertificateAndKey): string {
  const user = { 'client-certificate-data': btoa(certPem), 'client-key-data': btoa(keyPem) };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Config', users: [{ name: `127.0.0.1:${port}`, user }] });
}

function admissionConfiguration(kubeConfigFile: string): string {
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'WebhookAdmissionConfiguration',
    kubeConfigFile,
  };
  const names = ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'];
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: names.map((name) => ({ name, configuration })),
  });
}

/** The status of a review by a client with such a certificate, or that the handshake failed. */
async function review(certificate?: CertificateAndKey): Promise<number | string> {
  const client = new HttpsClient(port, fixture.operator.caPem);
  const tls = certificate && { cert: certificate.certPem, key: certificate.keyPem };
  try {
    return (await client.call('/inject', JSON.stringify(podReview()), tls)).status;
  } catch (error) {
    if (String(error).includes('ECONNREFUSED')) throw error;
    return REFUSED;
  } finally {
    client.disconnect();
  }
}

test('the API server gets its pods injected with --client-ca-file', async () => {
  const metadata = {
    name: 'one',
    namespace: 'default',
    labels: { 'initializer.kubernetes.io/envoy': 'true' },
  };
  const spec = { containers: [{ name: 'app', image: 'busybox' }] };
  await fixture.apply({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
  const names = ['get', 'pod', 'one', '-o', 'jsonpath={.spec.containers[*].name}'];
  expect(await fixture.kubectl(...names)).toBe('app envoy');
});

test('with --client-ca-file, clients are refused but those whose certificate the authority issued for them', async () => {
  expect(await review()).toBe(REFUSED);
  expect(await review(await other.client('kube-apiserver'))).toBe(REFUSED);
  expect(await review(await authority.server())).toBe(REFUSED);
  expect(await review(await authority.client('kube-apiserver'))).toBe(200);
});

test('the file of --client-ca-file is read again when it changes, and not when it holds no authority', async () => {
  const [former, next] = [await authority.client('former'), await other.client('next')];
  await writeFile(caFile, other.caPem);
  await eventually('the new authority is trusted', async () => (await review(next)) === 200);
  expect(await review(former)).toBe(REFUSED);
  await writeFile(caFile, 'none');
  await eventually('the log says that it is no good', async () =>
    (await readFile(fixture.logFile, 'utf8')).includes('still using the last valid ones'),
  );
  expect([await review(next), await review(former)]).toEqual([200, REFUSED]);
  await writeFile(caFile, authority.caPem + other.caPem);
  await eventually('both are trusted', async () => (await review(former)) === 200);
  expect(await review(next)).toBe(200);
});

import { certificateSecret } from '../../../src/certificates/secret.ts';
import { serverNames, x509Signer } from '../../../src/certificates/x509/signer.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { eventually } from '../../env/eventually.ts';

const DAY_MS = 24 * 60 * 60_000;
const OPERATOR = 'envoy-initializer';

/**
 * Gives the operator a serving certificate of its own authority that is due for renewal, and waits until the leader has
 * renewed it: two changes of what every replica serves.
 */
export async function ageCertificate(client: KubeClient): Promise<void> {
  const { signal } = new AbortController();
  const secret = certificateSecret(client, OPERATOR);
  const signer = x509Signer(serverNames(OPERATOR));
  const read = async () => {
    const stored = await secret.read(signal);
    if (!stored || 'foreign' in stored.content) throw new Error('the Secret is not the operator’s own');
    return { material: stored.content.material, resourceVersion: stored.resourceVersion };
  };
  const { material, resourceVersion } = await read();
  if (material.issuer === undefined) throw new Error('the Secret has no authority that signs');
  const leaf = await signer.leaf(material.issuer, {
    notBefore: new Date(Date.now() - 80 * DAY_MS),
    notAfter: new Date(Date.now() + 10 * DAY_MS),
  });
  await secret.replace({ ...material, leaf }, resourceVersion, signal);
  await eventually('the certificate is renewed', async () => {
    return (await read()).material.leaf?.fingerprint !== leaf.fingerprint;
  });
}

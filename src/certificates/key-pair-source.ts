import { isDeepStrictEqual } from 'node:util';
import type { KeyPair } from '../kube/admission/server.ts';
import type { Secret } from '../kube/api/core-resources.ts';
import { TerminalError } from '../kube/controller/controller.ts';
import type { Logger } from '../kube/util/log.ts';
import type { CertificateMetrics } from './metrics.ts';
import { type KeyMaterial, type Lifetimes, replacement } from './rotation.ts';
import { type CertificateSecret, readSecret } from './secret.ts';
import type { CertifiedKey } from './x509/certificate.ts';
import type { Signer } from './x509/signer.ts';

/** What all that makes certificates needs. */
export interface CertificateParts {
  readonly signer: Signer;
  readonly lifetimes: Lifetimes;
  /** Milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
  readonly log: Logger;
  readonly metrics: CertificateMetrics;
}

export interface KeyPairSourceOptions extends CertificateParts {
  readonly secret: Pick<CertificateSecret, 'create' | 'namespace' | 'name'>;
  /** Called with the first key pair and each new one. If it throws, it is called again later. */
  readonly onKeyPair: (pair: KeyPair) => void;
}

/**
 * Returns every replica's part: it watches the Secret, passes on its key pair, and creates the Secret if it does not
 * exist. If the Secret is deleted or damaged, the last valid key pair stays in use.
 */
export function keyPairSource(options: KeyPairSourceOptions) {
  const { secret, signer, lifetimes, wallClock, onKeyPair, log, metrics } = options;
  let serving: CertifiedKey | undefined;
  let material: KeyMaterial | undefined;
  let lastGood: KeyMaterial | undefined;
  let version: string | undefined;

  async function create(signal: AbortSignal): Promise<void> {
    const made = await replacement(lastGood, { signer, lifetimes, now: wallClock() });
    const created = await secret.create(made, signal);
    log.info(
      { secret: `${secret.namespace}/${secret.name}` },
      created ? 'certificates created' : 'certificates already created by another replica',
    );
  }

  function read(current: Secret): void {
    const content = readSecret(current);
    material = 'foreign' in content ? undefined : content.material;
    if ('foreign' in content) throw new TerminalError(content.foreign);
    const { damage } = content;
    if (damage.length > 0) log.warn({ damage }, 'certificates in the Secret are damaged');
    else lastGood = content.material;
    if (material?.issuer) metrics.expires('authority', material.issuer.notAfter / 1000);
  }

  function serve(leaf: CertifiedKey | undefined): void {
    if (!leaf || isDeepStrictEqual(leaf, serving)) return;
    onKeyPair({ cert: leaf.pem, key: leaf.keyPem });
    serving = leaf;
    const { fingerprint, notAfter } = leaf;
    metrics.expires('serving', notAfter / 1000);
    log.info({ fingerprint, expires: new Date(notAfter) }, 'serving new certificate');
  }

  return {
    /** The key pair that was passed on last. */
    serving: () => serving,
    /** The last undamaged content of our own Secret. */
    lastGood: () => lastGood,
    /**
     * Uses the current Secret; undefined if it does not exist. Returns the last content of the Secret.
     * @throws TerminalError if it is not our own
     */
    async reconcile(current: Secret | undefined, signal: AbortSignal): Promise<KeyMaterial | undefined> {
      if (current) {
        if (current.metadata.resourceVersion !== version) read(current);
        version = current.metadata.resourceVersion;
        serve(material?.leaf);
      } else await create(signal);
      return material;
    },
  };
}

import { isDeepStrictEqual } from 'node:util';
import type { KeyPair } from '../kube/admission/server.ts';
import type { Secret } from '../kube/api/core-resources.ts';
import type { Logger } from '../kube/util/log.ts';
import type { CertificateMetrics } from './metrics.ts';
import { type KeyMaterial, type Lifetimes, replacement } from './rotation.ts';
import { type CertificateSecret, leafOf, readSecret, type SecretContent } from './secret.ts';
import type { CertifiedKey } from './x509/certificate.ts';
import type { Signer } from './x509/signer.ts';

export interface KeyPairSourceOptions {
  readonly secret: Pick<CertificateSecret, 'create' | 'namespace' | 'name'>;
  readonly signer: Signer;
  readonly lifetimes: Lifetimes;
  /** Milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
  /** Called with the first key pair and each new one. If it throws, it is called again later. */
  readonly onKeyPair: (pair: KeyPair) => void;
  readonly log: Logger;
  readonly metrics?: CertificateMetrics | undefined;
}

/**
 * Every replica's part: watches the Secret, passes on its key pair, and creates the Secret if it does not exist. If
 * the Secret is deleted or damaged, the last valid key pair stays in use.
 */
export class KeyPairSource {
  readonly #options: KeyPairSourceOptions;
  #serving: CertifiedKey | undefined;
  #content: SecretContent | undefined;
  #lastGood: KeyMaterial | undefined;
  #seen: string | undefined;

  constructor(options: KeyPairSourceOptions) {
    this.#options = options;
  }

  /** Whether a key pair has been passed on. */
  get isServing(): boolean {
    return this.#serving !== undefined;
  }

  /** The last content of the Secret. */
  get content(): SecretContent | undefined {
    return this.#content;
  }

  /** The last undamaged content of our own Secret. */
  get lastGood(): KeyMaterial | undefined {
    return this.#lastGood;
  }

  /** Uses the current Secret; undefined if it does not exist. */
  async reconcile(secret: Secret | undefined, signal: AbortSignal): Promise<void> {
    if (!secret) return this.#create(signal);
    if (secret.metadata.resourceVersion !== this.#seen) this.#read(secret);
    this.#seen = secret.metadata.resourceVersion;
    this.#serve();
  }

  async #create(signal: AbortSignal): Promise<void> {
    const { secret, signer, lifetimes, wallClock, log } = this.#options;
    const name = `${secret.namespace}/${secret.name}`;
    if (this.#content?.kind === 'provided') {
      log.warn({ secret: name }, 'provided Secret was deleted, waiting for a new one');
      return;
    }
    const material = await replacement(this.#lastGood, { signer, lifetimes, now: wallClock() });
    const created = await secret.create(material, signal);
    log.info(
      { secret: name },
      created ? 'certificates created' : 'certificates already created by another replica',
    );
  }

  #read(secret: Secret): void {
    const { signer, log, metrics } = this.#options;
    const content = readSecret(secret);
    this.#content = content;
    if (content.kind === 'unusable') {
      log.warn(
        { problem: content.problem },
        'Secret was not created by the operator and has no usable key pair: fix or delete it',
      );
    } else if (content.kind === 'provided') {
      this.#lastGood = undefined;
      log.info('serving provided certificate, which its provider must renew');
      if (!signer.isUpToDate(content.leaf)) log.warn('provided certificate lacks names of the webhook');
    } else {
      const { material, damage } = content;
      if (damage.length > 0) log.warn({ damage }, 'certificates in the Secret are damaged');
      else this.#lastGood = material;
      if (material.issuer) metrics?.expires('authority', material.issuer.notAfter / 1000);
    }
  }

  #serve(): void {
    const leaf = leafOf(this.#content);
    if (!leaf || isDeepStrictEqual(leaf, this.#serving)) return;
    const { onKeyPair, log, metrics } = this.#options;
    onKeyPair({ cert: leaf.pem, key: leaf.keyPem });
    this.#serving = leaf;
    metrics?.expires('serving', leaf.notAfter / 1000);
    const { fingerprint, notAfter } = leaf;
    log.info({ fingerprint, expires: new Date(notAfter) }, 'serving new certificate');
  }
}

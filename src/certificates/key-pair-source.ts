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
 * Every replica's part: watches the Secret, passes on its key pair, and creates the Secret if it does not exist. If
 * the Secret is deleted or damaged, the last valid key pair stays in use.
 */
export class KeyPairSource {
  readonly #options: KeyPairSourceOptions;
  #serving: CertifiedKey | undefined;
  #material: KeyMaterial | undefined;
  #lastGood: KeyMaterial | undefined;
  #seen: string | undefined;

  constructor(options: KeyPairSourceOptions) {
    this.#options = options;
  }

  /** The key pair that was passed on last. */
  get serving(): CertifiedKey | undefined {
    return this.#serving;
  }

  /** The last content of the Secret; undefined if it is not our own. */
  get material(): KeyMaterial | undefined {
    return this.#material;
  }

  /** The last undamaged content of our own Secret. */
  get lastGood(): KeyMaterial | undefined {
    return this.#lastGood;
  }

  /** Uses the current Secret; undefined if it does not exist. @throws TerminalError if it is not our own */
  async reconcile(secret: Secret | undefined, signal: AbortSignal): Promise<void> {
    if (!secret) return this.#create(signal);
    if (secret.metadata.resourceVersion !== this.#seen) this.#read(secret);
    this.#seen = secret.metadata.resourceVersion;
    this.#serve();
  }

  async #create(signal: AbortSignal): Promise<void> {
    const { secret, signer, lifetimes, wallClock, log } = this.#options;
    const material = await replacement(this.#lastGood, { signer, lifetimes, now: wallClock() });
    const created = await secret.create(material, signal);
    log.info(
      { secret: `${secret.namespace}/${secret.name}` },
      created ? 'certificates created' : 'certificates already created by another replica',
    );
  }

  #read(secret: Secret): void {
    const { log, metrics } = this.#options;
    const content = readSecret(secret);
    if ('foreign' in content) {
      this.#material = undefined;
      throw new TerminalError(content.foreign);
    }
    const { material, damage } = content;
    this.#material = material;
    if (damage.length > 0) log.warn({ damage }, 'certificates in the Secret are damaged');
    else this.#lastGood = material;
    if (material.issuer) metrics.expires('authority', material.issuer.notAfter / 1000);
  }

  #serve(): void {
    const leaf = this.#material?.leaf;
    if (!leaf || isDeepStrictEqual(leaf, this.#serving)) return;
    const { onKeyPair, log, metrics } = this.#options;
    onKeyPair({ cert: leaf.pem, key: leaf.keyPem });
    this.#serving = leaf;
    metrics.expires('serving', leaf.notAfter / 1000);
    const { fingerprint, notAfter } = leaf;
    log.info({ fingerprint, expires: new Date(notAfter) }, 'serving new certificate');
  }
}

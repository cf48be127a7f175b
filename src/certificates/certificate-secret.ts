import { isAlreadyExists, isNotFound } from '../kube/api/api-error.ts';
import { SECRETS } from '../kube/api/core-resources.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { OWN_LABELS } from '../util/own-names.ts';
import { OWN_CERTIFICATE } from './names.ts';
import { readSecret, type SecretContent, secretData } from './secret-content.ts';
import type { KeyMaterial } from './x509/key-material.ts';

/** The content of the Secret and its resourceVersion. */
export interface StoredContent {
  readonly content: SecretContent;
  readonly resourceVersion: string | undefined;
}

export interface CertificateSecretOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>;
  readonly namespace: string;
  readonly name: string;
}

/** The Secret that all replicas share. Every write is a compare-and-swap: of concurrent writers, one wins. */
export class CertificateSecret {
  readonly namespace: string;
  readonly name: string;
  readonly #client: CertificateSecretOptions['client'];

  constructor({ client, namespace, name }: CertificateSecretOptions) {
    this.#client = client;
    this.namespace = namespace;
    this.name = name;
  }

  /** Reads from the API server, not from a cache. Undefined if it does not exist. */
  async read(signal: AbortSignal): Promise<StoredContent | undefined> {
    try {
      const secret = await this.#client.get(SECRETS, this, { signal });
      return { content: readSecret(secret), resourceVersion: secret.metadata.resourceVersion };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Creates the Secret. Returns false if it already exists. */
  async create(material: KeyMaterial, signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = this;
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name, labels: OWN_LABELS, ...mark(material) },
      type: 'kubernetes.io/tls',
      data: Object.fromEntries(Object.entries(secretData(material)).filter(([, value]) => value !== null)),
    };
    try {
      await this.#client.create(SECRETS, secret, { signal });
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }

  /** Replaces our values. Rejects with a conflict if the Secret has changed; keeps the values of other writers. */
  async replace(
    material: KeyMaterial,
    resourceVersion: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const metadata = { resourceVersion, ...mark(material) };
    await this.#client.mergePatch(SECRETS, this, { metadata, data: secretData(material) }, { signal });
  }
}

function mark({ leaf }: KeyMaterial) {
  return { annotations: { [OWN_CERTIFICATE]: leaf?.fingerprint ?? '' } };
}

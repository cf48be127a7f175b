import type { Secret } from '../../kube/api/core-resources.ts';
import { NeutronClient } from './client.ts';
import { CA_KEY, CLOUDS_KEY, parseClouds } from './openstack/cloud.ts';
import { NotConfiguredError } from './openstack/error.ts';
import { OpenStackHttp, type OpenStackHttpOptions } from './openstack/http.ts';
import { OpenStackSession } from './openstack/session.ts';

export interface NeutronConnectionOptions extends Omit<OpenStackHttpOptions, 'ca'> {
  /** `namespace/name`, for messages. */
  readonly secretName: string;
  readonly onChange: (problem: string | undefined) => void;
}

/** Holds the client for the Neutron in the Secret. Messages never contain values of the Secret. */
export class NeutronConnection {
  readonly #options: NeutronConnectionOptions;
  #current: NeutronClient | NotConfiguredError;
  /** Of the current client. */
  #http: OpenStackHttp | undefined;
  #content: string | undefined;
  #hasBeenConfigured = false;

  constructor(options: NeutronConnectionOptions) {
    this.#options = options;
    this.#current = new NotConfiguredError(`Secret ${options.secretName} has not been read yet`);
  }

  /** Returns the client. @throws NotConfiguredError that says what is missing. */
  api(): NeutronClient {
    if (this.#current instanceof NeutronClient) return this.#current;
    throw this.#current;
  }

  /** Whether a Secret ever existed, also an invalid one. Without one, the cluster does not use OpenStack. */
  get hasBeenConfigured(): boolean {
    return this.#hasBeenConfigured;
  }

  /** Replaces the client after a change of the Secret; `undefined` if the Secret does not exist. */
  update(secret: Secret | undefined): void {
    const { [CLOUDS_KEY]: clouds, [CA_KEY]: ca } = secret?.data ?? {};
    // Changes of its metadata do not matter.
    const content = JSON.stringify([secret === undefined, clouds, ca]);
    if (content === this.#content) return;
    this.#content = content;
    this.#hasBeenConfigured ||= secret !== undefined;
    void this.close();
    this.#current = this.#read(secret !== undefined, decoded(clouds), decoded(ca));
    this.#options.onChange(this.#current instanceof NeutronClient ? undefined : this.#current.message);
  }

  async close(): Promise<void> {
    await this.#http?.close();
  }

  #read(
    exists: boolean,
    clouds: string | undefined,
    ca: string | undefined,
  ): NeutronClient | NotConfiguredError {
    const { secretName, ...options } = this.#options;
    if (clouds === undefined) {
      const what = exists ? `has no key ${CLOUDS_KEY}` : 'does not exist';
      return new NotConfiguredError(
        `Secret ${secretName} ${what}: it must hold an application credential (docs/neutron.md)`,
      );
    }
    try {
      const cloud = parseClouds(clouds, ca);
      this.#http = new OpenStackHttp({ ...options, ca: cloud.ca });
      return new NeutronClient(new OpenStackSession(cloud, this.#http));
    } catch (error) {
      if (!(error instanceof NotConfiguredError)) throw error;
      return new NotConfiguredError(`Secret ${secretName}: ${error.message}`);
    }
  }
}

function decoded(value: string | undefined): string | undefined {
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
}

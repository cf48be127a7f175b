import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { Clock } from '../workqueue/clock.ts';
import { TransportError } from './api-error.ts';
import { toError } from './to-error.ts';

export type TlsOptions = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'rejectUnauthorized' | 'servername'
>;

/** What a request needs to be let in: a connection of these TLS settings, and these headers. */
export interface Credential {
  readonly tls: TlsOptions;
  /** The same for the same TLS settings, and for no others. */
  readonly tlsId: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** How long the files of a credential (CA, client certificate) are believed before they are read again. */
const TTL_MS = 10_000;

/**
 * The kubeconfig's credentials, as client-node reads them (files, exec plugins, OIDC, service account), kept for
 * a short while. Tokens client-node itself keeps longer, those of files for a minute, as client-go does.
 */
export class Credentials {
  #config: KubeConfig;
  readonly #clock: Clock;
  #known: { readonly credential: Credential; readonly readAt: number } | undefined;
  #reading: Promise<Credential> | undefined;

  constructor(config: KubeConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /**
   * What to send now. Many who ask at once share one reading.
   * @throws TransportError `ECREDENTIALS` when it cannot be read, and there is no former one to go on with.
   */
  get(): Credential | Promise<Credential> {
    const known = this.#known;
    if (known && this.#clock.now() - known.readAt < TTL_MS) return known.credential;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** The server did not accept it: what is asked for next is read anew, past every cache. */
  refuse(credential: Credential): void {
    // Of many requests that the same credential failed, the first has seen to it.
    if (this.#known?.credential !== credential) return;
    this.#known = undefined;
    this.#config = withoutMemory(this.#config);
  }

  async #read(): Promise<Credential> {
    try {
      const credential = await load(this.#config);
      this.#known = { credential, readAt: this.#clock.now() };
      return credential;
    } catch (error) {
      // Perhaps a file that is being replaced. The former one is good until the server refuses it: then this is thrown.
      if (this.#known) return this.#known.credential;
      const message = `cannot read the credentials for the API server: ${toError(error).message}`;
      throw new TransportError(message, 'ECREDENTIALS', error);
    }
  }
}

async function load(config: KubeConfig): Promise<Credential> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
  const tls = definedOnly({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername });
  const basic = options.auth ? { Authorization: `Basic ${btoa(options.auth)}` } : {};
  return {
    tls,
    tlsId: createHash('sha256').update(JSON.stringify(tls)).digest('hex'),
    headers: { ...stringHeaders(options.headers), ...basic },
  };
}

/** client-node keeps a token that it read or was given even when the server refuses it; a copy of the config has none. */
function withoutMemory(config: KubeConfig): KubeConfig {
  const { clusters, users, contexts, currentContext } = config;
  const copy = new KubeConfig();
  copy.loadFromOptions({ clusters, users, contexts, currentContext });
  return copy;
}

function stringHeaders(headers: RequestOptions['headers']): Record<string, string> {
  return Object.fromEntries(
    // A token file may end with a newline, which no header can hold.
    Object.entries(headers ?? {}).map(([name, value]) => [name, String(value).trim()]),
  );
}

function definedOnly(options: TlsOptions): TlsOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== null),
  );
}

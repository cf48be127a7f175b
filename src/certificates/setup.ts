import type { Logger } from 'pino';
import { loadClientAuthorities } from '../kube/admission/client-authorities.ts';
import { FileWatcher } from '../kube/admission/file-watcher.ts';
import { type KeyPair, loadKeyPair } from '../kube/admission/key-pair.ts';
import { informerLog } from '../kube/cache/informer-log.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import type { CertificateMetrics } from './certificate-metrics.ts';
import { ManagedCertificates } from './managed-certificates.ts';
import { ProvidedCertificates } from './provided-certificates.ts';
import { serverNames } from './x509/server-names.ts';

/** The flags of `serve` that certificates look at. */
export interface CertificateOptions {
  readonly namespace: string;
  readonly tlsCertFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
  readonly clientCaFile: string | undefined;
  readonly webhookUrl: string | undefined;
}

export interface CertificateDutyOptions {
  readonly options: CertificateOptions;
  readonly client: KubeClient;
  /** For what is written, by the leader alone. */
  readonly leaderClient: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: CertificateMetrics;
  /** The webhook's server: it takes a new pair without closing a connection. */
  readonly onKeyPair: (pair: KeyPair) => void;
  /** The same server: new connections need a certificate of these authorities (PEM). */
  readonly onClientAuthorities: (authorities: string) => void;
}

/** What the webhook is trusted by: kept by the operator itself, or by whoever writes the files. */
export interface CertificateDuty {
  /** What is missing before the API server trusts what is served. */
  failure(): string | undefined;
  /** Call it first. Rejects where files are named that cannot be used: nothing should start then. */
  prepare(): Promise<void>;
  /** Every replica's part, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** The leader's part, until the signal aborts. */
  lead(signal: AbortSignal): Promise<void>;
}

export function certificateDuty(options: CertificateDutyOptions): CertificateDuty {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile, clientCaFile } = options.options;
  const serving =
    certFile !== undefined && keyFile !== undefined
      ? fromFiles({ certFile, keyFile }, options)
      : managed(options);
  return clientCaFile === undefined ? serving : verifyingClients(serving, clientCaFile, options);
}

/** The same duty, which follows the file with the authorities of clients besides. */
function verifyingClients(
  serving: CertificateDuty,
  file: string,
  { log, onClientAuthorities }: CertificateDutyOptions,
): CertificateDuty {
  let current: string | undefined;
  return {
    ...serving,
    async prepare() {
      current = await loadClientAuthorities(file);
      onClientAuthorities(current);
      await serving.prepare();
    },
    async run(signal) {
      const watcher = new FileWatcher({
        files: [file],
        load: () => loadClientAuthorities(file),
        current,
        changed(authorities) {
          onClientAuthorities(authorities);
          log.info({ file }, 'client authorities read again');
        },
        failed: (err) => log.error({ file, err }, 'client authorities not usable: the last good ones stay'),
      });
      await Promise.all([watcher.run(signal), serving.run(signal)]);
    },
  };
}

function managed({
  options,
  client,
  leaderClient,
  clock,
  log,
  metrics,
  onKeyPair,
}: CertificateDutyOptions): CertificateDuty {
  const { namespace, webhookUrl } = options;
  const certificates = new ManagedCertificates({
    client,
    leaderClient,
    clock,
    wallClock: Date.now,
    log,
    metrics,
    onInformerError: (plural) => informerLog(log, plural),
    namespace,
    names: serverNames({ service: 'envoy-initializer', namespace, webhookUrl }),
    onKeyPair,
  });
  return {
    failure: () => certificates.failure(),
    prepare: async () => undefined,
    run: (signal) => certificates.run(signal),
    lead: (signal) => certificates.lead(signal),
  };
}

function fromFiles(
  files: { readonly certFile: string; readonly keyFile: string },
  { options, client, leaderClient, clock, log, metrics, onKeyPair }: CertificateDutyOptions,
): CertificateDuty {
  const certificates = new ProvidedCertificates({
    client,
    leaderClient,
    clock,
    wallClock: Date.now,
    log,
    metrics,
    onInformerError: (plural) => informerLog(log, plural),
    namespace: options.namespace,
  });
  const serve = (pair: KeyPair) => {
    onKeyPair(pair);
    certificates.served(pair.cert);
  };
  let current: KeyPair | undefined;
  return {
    failure: () => certificates.failure(),
    async prepare() {
      current = await loadKeyPair(files);
      serve(current);
    },
    async run(signal) {
      const watcher = new FileWatcher({
        files: [files.certFile, files.keyFile],
        load: () => loadKeyPair(files),
        current,
        changed(keyPair) {
          serve(keyPair);
          log.info({ files }, 'certificate read again');
        },
        failed: (err) => log.error({ files, err }, 'certificate not usable: the last good one stays'),
      });
      await Promise.all([watcher.run(signal), certificates.run(signal)]);
    },
    lead: (signal) => certificates.lead(signal),
  };
}

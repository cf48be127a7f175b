import { loadClientAuthorities } from '../kube/admission/client-authorities.ts';
import { FileWatcher } from '../kube/admission/file-watcher.ts';
import { loadKeyPair } from '../kube/admission/key-pair.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { ManagedCertificates } from './managed-certificates.ts';
import { certificateMetrics } from './metrics.ts';
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

/** What the webhook is trusted by: kept by the operator itself, or by whoever writes the files. */
export function setUpCertificates(manager: Manager, options: CertificateOptions): void {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile, clientCaFile } = options;
  if (clientCaFile !== undefined) verifyClients(manager, clientCaFile);
  const certificates =
    certFile !== undefined && keyFile !== undefined
      ? provided(manager, options, { certFile, keyFile })
      : managed(manager, options);
  manager.addReadyz('certificates', () => certificates.failure());
  manager.everyReplica('certificates', (signal) => certificates.run(signal));
  manager.singleton('certificates', (signal) => certificates.lead(signal));
}

function managed(manager: Manager, { namespace, webhookUrl }: CertificateOptions): ManagedCertificates {
  return new ManagedCertificates({
    ...partsOf(manager),
    client: manager.client,
    namespace,
    names: serverNames({ service: 'envoy-initializer', namespace, webhookUrl }),
    onKeyPair: (pair) => manager.webhooks.setKeyPair(pair),
  });
}

function provided(
  manager: Manager,
  { namespace }: CertificateOptions,
  files: { readonly certFile: string; readonly keyFile: string },
): ProvidedCertificates {
  const certificates = new ProvidedCertificates({ ...partsOf(manager), namespace });
  follow(manager, {
    files: [files.certFile, files.keyFile],
    load: () => loadKeyPair(files),
    use(pair) {
      manager.webhooks.setKeyPair(pair);
      certificates.served(pair.cert);
    },
    changed: () => manager.log.info({ files }, 'certificate read again'),
    failed: (err) => manager.log.error({ files, err }, 'certificate not usable: the last good one stays'),
  });
  return certificates;
}

function verifyClients(manager: Manager, file: string): void {
  follow(manager, {
    files: [file],
    load: () => loadClientAuthorities(file),
    use: (authorities) => manager.webhooks.setClientAuthorities(authorities),
    changed: () => manager.log.info({ file }, 'client authorities read again'),
    failed: (err) =>
      manager.log.error({ file, err }, 'client authorities not usable: the last good ones stay'),
  });
}

function partsOf(manager: Manager) {
  const { leaderClient, clock, log, registry } = manager;
  const metrics = certificateMetrics(registry);
  return { informers: manager, leaderClient, clock, wallClock: Date.now, log, metrics };
}

interface Followed<T> {
  readonly files: readonly string[];
  readonly load: () => Promise<T>;
  readonly use: (content: T) => void;
  readonly changed: () => void;
  readonly failed: (error: unknown) => void;
}

/** Uses what the files hold: before anything starts, which fails where they cannot be used, and whenever they change. */
function follow<T>(manager: Manager, { files, load, use, changed, failed }: Followed<T>): void {
  let current: T | undefined;
  manager.prepare(async () => {
    current = await load();
    use(current);
  });
  manager.everyReplica(`files ${files.join()}`, (signal) =>
    new FileWatcher({
      ...{ files, load, current, failed },
      changed(content: T) {
        use(content);
        changed();
      },
    }).run(signal),
  );
}

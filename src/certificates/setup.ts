import { loadClientAuthorities } from '../kube/admission/client-authorities.ts';
import { FileWatcher } from '../kube/admission/file-watcher.ts';
import { loadKeyPair } from '../kube/admission/key-pair.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { readText } from '../kube/util/file-problem.ts';
import { ManagedCertificates } from './managed-certificates.ts';
import { certificateMetrics } from './metrics.ts';
import { ProvidedCertificates } from './provided-certificates.ts';
import { readCertificates } from './x509/certificate.ts';
import { serverNames } from './x509/server-names.ts';
import { authoritiesIn, isAnchored } from './x509/trust.ts';

/** The flags of `serve` for certificates. */
export interface CertificateOptions {
  readonly namespace: string;
  readonly tlsCertFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
  readonly tlsCaFile: string | undefined;
  readonly clientCaFile: string | undefined;
  readonly webhookUrl: string | undefined;
}

/** Sets up the webhook's certificates: managed by the operator, or provided in files. */
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
    namespace,
    names: serverNames({ service: 'envoy-initializer', namespace, webhookUrl }),
    onKeyPair: (pair) => manager.webhooks.setKeyPair(pair),
  });
}

function provided(
  manager: Manager,
  { namespace, tlsCaFile: caFile }: CertificateOptions,
  files: { readonly certFile: string; readonly keyFile: string },
): ProvidedCertificates {
  const certificates = new ProvidedCertificates({ ...partsOf(manager), namespace });
  follow(manager, {
    files: [files.certFile, files.keyFile, ...(caFile === undefined ? [] : [caFile])],
    async load() {
      const pair = await loadKeyPair(files);
      return {
        ...pair,
        authorities: caFile === undefined ? undefined : await loadAuthorities(caFile, pair.cert),
      };
    },
    use({ authorities, ...pair }) {
      manager.webhooks.setKeyPair(pair);
      certificates.served({ cert: pair.cert, authorities });
    },
    changed: () => manager.log.info({ files }, 'certificate reloaded'),
    failed: (err) =>
      manager.log.error({ files, err }, 'cannot use the new certificate, still serving the last valid one'),
  });
  return certificates;
}

/** Reads the authorities (PEM) of the certificate. Rejects if they have not signed it. */
async function loadAuthorities(file: string, cert: string): Promise<string> {
  const pem = await readText(file);
  if (!isAnchored(readCertificates(cert), authoritiesIn(Buffer.from(pem).toString('base64'))))
    throw new Error(
      `${file}: expected the authority that signed the certificate of --tls-cert-file, got none`,
    );
  return pem;
}

function verifyClients(manager: Manager, file: string): void {
  follow(manager, {
    files: [file],
    load: () => loadClientAuthorities(file),
    use: (authorities) => manager.webhooks.setClientAuthorities(authorities),
    changed: () => manager.log.info({ file }, 'client authorities reloaded'),
    failed: (err) =>
      manager.log.error({ file, err }, 'cannot use the new client authorities, keeping the last valid ones'),
  });
}

function partsOf(manager: Manager) {
  const { client, leaderClient, clock, log, registry } = manager;
  const metrics = certificateMetrics(registry);
  return { informers: manager, client, leaderClient, clock, wallClock: Date.now, log, metrics };
}

interface Followed<T> {
  readonly files: readonly string[];
  readonly load: () => Promise<T>;
  readonly use: (content: T) => void;
  readonly changed: () => void;
  readonly failed: (error: unknown) => void;
}

/** Uses the files at the start, which fails if they are invalid, and after each change. */
function follow<T>(manager: Manager, { files, load, use, changed, failed }: Followed<T>): void {
  let current: T | undefined;
  manager.prepare(async () => {
    current = await load();
    use(current);
  });
  manager.everyReplica(`files ${files.join()}`, (signal) =>
    new FileWatcher({
      files,
      load,
      current,
      failed,
      changed(content: T) {
        use(content);
        changed();
      },
    }).run(signal),
  );
}

import type { Manager } from '../kube/manager/manager.ts';
import { toError } from '../kube/util/to-error.ts';
import { PROGRAM } from '../util/identity.ts';
import {
  type FollowedFiles,
  followFiles,
  type KeyPairFiles,
  loadAuthorities,
  loadClientAuthorities,
  loadKeyPair,
} from './files.ts';
import { ManagedCertificates } from './managed-certificates.ts';
import { certificateMetrics } from './metrics.ts';
import { ProvidedCertificates } from './provided-certificates.ts';
import { serverNames } from './x509/signer.ts';

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
  if (clientCaFile !== undefined)
    manager.addReadyz('client-authorities', verifyClients(manager, clientCaFile));
  const certificates =
    certFile !== undefined && keyFile !== undefined
      ? provided(manager, options, { certFile, keyFile })
      : managed(manager, options);
  manager.everyReplica('certificates', (signal) => certificates.run(signal));
  manager.singleton('certificates', (signal) => certificates.lead(signal));
}

function managed(manager: Manager, { namespace, webhookUrl }: CertificateOptions): ManagedCertificates {
  const certificates = new ManagedCertificates({
    ...partsOf(manager),
    namespace,
    names: serverNames({ service: PROGRAM, namespace, webhookUrl }),
    onKeyPair: (pair) => manager.webhooks.setKeyPair(pair),
  });
  manager.addReadyz('certificates', () => certificates.failure());
  return certificates;
}

function provided(
  manager: Manager,
  { namespace, tlsCaFile: caFile }: CertificateOptions,
  files: KeyPairFiles,
): ProvidedCertificates {
  const certificates = new ProvidedCertificates({ ...partsOf(manager), namespace });
  const problem = follow(manager, {
    files: [files.certFile, files.keyFile, ...(caFile === undefined ? [] : [caFile])],
    async load() {
      const pair = await loadKeyPair(files);
      return { ...pair, authorities: caFile && (await loadAuthorities(caFile, pair.cert)) };
    },
    use({ authorities, ...pair }) {
      manager.webhooks.setKeyPair(pair);
      certificates.served({ cert: pair.cert, authorities });
    },
  });
  manager.addReadyz('certificates', () => problem() ?? certificates.failure());
  return certificates;
}

function verifyClients(manager: Manager, file: string): () => string | undefined {
  return follow(manager, {
    files: [file],
    load: () => loadClientAuthorities(file),
    use: (authorities) => manager.webhooks.setClientAuthorities(authorities),
  });
}

function partsOf(manager: Manager) {
  const { client, leaderClient, clock, log, registry } = manager;
  const metrics = certificateMetrics(registry);
  return { informers: manager, client, leaderClient, clock, wallClock: Date.now, log, metrics };
}

type Followed<T> = Pick<FollowedFiles<T>, 'files' | 'load'> & {
  readonly use: (content: T) => void;
};

/**
 * Uses the files as soon as they are valid, and after each change. Returns why they are not used yet; undefined from
 * then on, because the last valid ones stay in use.
 */
function follow<T>(manager: Manager, { files, load, use }: Followed<T>): () => string | undefined {
  const { log } = manager;
  let problem: string | undefined = `${files.join(', ')}: not read yet`;
  const followed: FollowedFiles<T> = {
    files,
    load,
    changed(content) {
      use(content);
      if (problem === undefined) log.info({ files }, 'files reloaded');
      problem = undefined;
    },
    failed(err) {
      if (problem === undefined)
        return log.error({ files, err }, 'cannot use the new files, still using the last valid ones');
      problem = toError(err).message;
      log.error({ files, err }, 'cannot use these files, retrying: not ready until they are valid');
    },
  };
  manager.everyReplica(`files ${files.join()}`, (signal) => followFiles(followed, signal));
  return () => problem;
}

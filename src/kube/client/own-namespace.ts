import { readFileSync } from 'node:fs';
import { PROGRAM } from '../../util/identity.ts';

const SERVICE_ACCOUNT_NAMESPACE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** The namespace of this process's pod; outside a cluster, the namespace that deploy/ creates. */
export function ownNamespace(): string {
  try {
    return readFileSync(SERVICE_ACCOUNT_NAMESPACE, 'utf8').trim();
  } catch {
    return PROGRAM;
  }
}

import { readFileSync } from 'node:fs';
import { PROGRAM } from '../../json/own-names.ts';

const SERVICE_ACCOUNT_NAMESPACE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** The namespace of the pod that this runs in; outside a cluster the one that deploy/ makes. */
export function ownNamespace(): string {
  try {
    return readFileSync(SERVICE_ACCOUNT_NAMESPACE, 'utf8').trim();
  } catch {
    return PROGRAM;
  }
}

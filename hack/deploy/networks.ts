import { setTimeout as delay } from 'node:timers/promises';
import { type Kubectl, output, Refusal } from './kubectl.ts';

export const NETWORK_CRD = 'networks.samplecrd.k8s.io';
const NAMED = 5;
const POLL_MS = 1_000;

/** A Network that is not deleted yet. */
export interface RemainingNetwork {
  /** `namespace/name` */
  readonly key: string;
  /** What its deletion waits for, from its status. */
  readonly message: string | undefined;
}

interface NetworkList {
  readonly items: readonly {
    readonly metadata: {
      readonly namespace: string;
      readonly name: string;
      readonly deletionTimestamp?: string;
    };
    readonly status?: {
      readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
    };
  }[];
}

/** All Networks of the cluster; none if their CRD does not exist. */
export async function findNetworks(kubectl: Kubectl): Promise<readonly RemainingNetwork[]> {
  const crd = await output(kubectl, ['get', 'crd', NETWORK_CRD, '--ignore-not-found', '--output=name']);
  if (crd === '') return [];
  const json = await output(kubectl, ['get', NETWORK_CRD, '--all-namespaces', '--output=json']);
  const { items } = JSON.parse(json) as NetworkList;
  return items.map(({ metadata: { namespace, name, deletionTimestamp }, status }) => ({
    key: `${namespace}/${name}`,
    message: deletionTimestamp && status?.conditions?.find(({ type }) => type === 'Ready')?.message,
  }));
}

/** Deletes all Networks, and waits until the operator has removed the real networks. @throws Refusal on timeout. */
export async function deleteNetworks(kubectl: Kubectl, timeoutSeconds: number): Promise<void> {
  await output(kubectl, ['delete', NETWORK_CRD, '--all', '--all-namespaces', '--wait=false']);
  const deadline = performance.now() + timeoutSeconds * 1_000;
  let remaining = await findNetworks(kubectl);
  while (remaining.length > 0) {
    if (performance.now() > deadline) {
      throw new Refusal(
        `after ${timeoutSeconds} s these Networks still exist: ${named(remaining)}. See docs/install.md#a-network-that-is-stuck-in-deletion, and retry`,
      );
    }
    await delay(POLL_MS);
    remaining = await findNetworks(kubectl);
  }
}

/** `a/b, c/d (waits for …) and 3 more` */
export function named(networks: readonly RemainingNetwork[]): string {
  const some = networks
    .slice(0, NAMED)
    .map(({ key, message }) => (message === undefined ? key : `${key} (${message})`))
    .join(', ');
  return networks.length > NAMED ? `${some} and ${networks.length - NAMED} more` : some;
}

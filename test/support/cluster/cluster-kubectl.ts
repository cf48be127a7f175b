import { dump } from 'js-yaml';
import type { Cluster } from '../../env/cluster/cluster.ts';

/** What runs kubectl. */
export type Kubectl = Pick<Cluster, 'kubectl'>;

/** kubectl, which must succeed: resolves with what it printed. */
export async function kubectl(
  cluster: Kubectl,
  args: string | readonly string[],
  input?: string,
): Promise<string> {
  const words = typeof args === 'string' ? args.split(' ') : args;
  const { code, stdout, stderr } = await cluster.kubectl(words, input === undefined ? {} : { input });
  if (code !== 0) throw new Error(`kubectl ${words.join(' ')}: ${stderr}`);
  return stdout;
}

export async function apply(cluster: Kubectl, ...objects: readonly object[]): Promise<void> {
  await kubectl(cluster, 'apply -f -', manifests(objects));
}

export function manifests(objects: readonly object[]): string {
  return objects.map((object) => dump(object)).join('---\n');
}

/** Runs a shell's command line in a pod that is there; resolves with what it printed. */
export function shell(cluster: Kubectl, pod: string, line: string): Promise<string> {
  return kubectl(cluster, ['exec', pod, '--', 'sh', '-c', line]);
}

/** A pod that sleeps, as far as its container and its spec do not say otherwise. */
export function podOf(
  name: string,
  container: object = {},
  spec: object = {},
  metadata: object = {},
): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: {
      containers: [{ name: 'main', image: 'busybox', command: ['sleep', '3600'], ...container }],
      ...spec,
    },
  };
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { type Credential, Credentials } from '../../../src/kube/client/credentials.ts';
import { loadKubeConfig } from '../../../src/kube/client/kubeconfig/load-config.ts';
import { FakeClock } from '../time/fake-clock.ts';

/** A directory with kubeconfigs and what they refer to. */
export class KubeconfigFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<KubeconfigFolder> {
    return new KubeconfigFolder(await mkdtemp(join(tmpdir(), 'kubeconfig-')));
  }

  /** The path of a file with this content. */
  async write(name: string, content: string | object): Promise<string> {
    const file = join(this.path, name);
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  }

  /** What the operator makes of a kubeconfig with these fields. */
  async load(cluster: object, user: object, environment: Record<string, string> = {}): Promise<KubeConfig> {
    const kubeconfig = await this.write('config', {
      clusters: [{ name: 'there', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
      users: [{ name: 'me', user }],
      contexts: [{ name: 'now', context: { cluster: 'there', user: 'me' } }],
      'current-context': 'now',
    });
    return loadKubeConfig({ kubeconfig, master: undefined, environment });
  }

  /** What a request is sent with. */
  async credential(cluster: object, user: object): Promise<Credential> {
    return await new Credentials(await this.load(cluster, user), new FakeClock()).get();
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true });
  }
}

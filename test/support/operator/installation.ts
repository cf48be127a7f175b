import { join } from 'node:path';
import { deploy } from '../../../hack/deploy/deploy.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { must } from '../../env/operator.ts';

const DEFAULT_OVERLAY = join(projectDirectory(), 'deploy/overlays/default');
const KINDS = ['mutatingwebhookconfiguration', 'validatingwebhookconfiguration'];

/** What a cluster is told of the operator, and what is done with that. */
export class Installation {
  readonly #cluster: Pick<ControlPlane, 'kubectl'>;

  constructor(cluster: Pick<ControlPlane, 'kubectl'>) {
    this.#cluster = cluster;
  }

  async run(args: string): Promise<string> {
    return (await must(this.#cluster, args.split(' '))).stdout;
  }

  /** `kubectl apply -k deploy/overlays/default`: the lines that tell of a change. */
  async apply(...flags: readonly string[]): Promise<readonly string[]> {
    const { stdout } = await must(this.#cluster, ['apply', ...flags, '-k', DEFAULT_OVERLAY]);
    return stdout.split('\n').filter((line) => line !== '' && !line.endsWith(' unchanged'));
  }

  /** `make deploy IMAGE=…` */
  async upgrade(image: string, timeoutSeconds: number): Promise<void> {
    const kubectl = this.#cluster.kubectl.bind(this.#cluster);
    await deploy({ kubectl, overlay: 'default', image, timeoutSeconds, say() {} });
  }

  /** What `kubectl diff` finds between the manifests, with another image where one is given, and the cluster. */
  async drift(image?: string): Promise<string> {
    const { stdout } = await must(this.#cluster, ['kustomize', DEFAULT_OVERLAY]);
    const manifests = image ? stdout.replace('image: envoy-initializer:0.0.1', `image: ${image}`) : stdout;
    const { code, ...diff } = await this.#cluster.kubectl(['diff', '-f', '-'], { input: manifests });
    if (code !== 0 && code !== 1) throw new Error(`kubectl diff: ${diff.stderr}`);
    return diff.stdout;
  }

  /** What the operator has written into objects of the manifests, and what the user has: none of it is in these. */
  async written(): Promise<object> {
    const configurations = await Promise.all(
      KINDS.map(async (kind) => {
        const { metadata, webhooks } = JSON.parse(
          await this.run(`get ${kind} envoy-initializer --output=json`),
        );
        const bundles = webhooks.map((webhook: { clientConfig: object }) => webhook.clientConfig);
        return { owners: metadata.ownerReferences, bundles };
      }),
    );
    const template = await this.run(
      'get configmap envoy-initializer --namespace=envoy-initializer --output=jsonpath={.data}',
    );
    return { configurations, template };
  }

  /** Resolves when the operator has written all that. */
  async untilWritten(): Promise<void> {
    const namespace = '--namespace=envoy-initializer';
    await this.run(`wait configmap/envoy-initializer ${namespace} --for=create --timeout=60s`);
    await eventually('the namespace owns the webhooks, and they have their caBundle', async () => {
      const printed = await Promise.all(
        KINDS.map((kind) => this.run(`get ${kind} envoy-initializer --output=json`)),
      );
      return printed.every((json) => json.includes('"ownerReferences"') && json.includes('"caBundle"'));
    });
  }

  /** Takes a template of their own, as a user does. */
  async changeTemplate(): Promise<void> {
    await must(this.#cluster, ['apply', '-f', join(projectDirectory(), 'deploy/examples/template.yaml')]);
  }
}

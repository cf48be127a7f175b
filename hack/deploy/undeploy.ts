import { removeCopies } from './copies.ts';
import { liftGates } from './gates.ts';
import { type Kubectl, lines, output, Refusal } from './kubectl.ts';
import { deleteNetworks, findNetworks, NETWORK_CRD, named } from './networks.ts';

export interface UndeployOptions {
  readonly kubectl: Kubectl;
  /** Also deletes users' Networks. */
  readonly force: boolean;
  /** How long to wait for each deletion. */
  readonly timeoutSeconds: number;
  /** Called with each line of progress. */
  readonly say: (line: string) => void;
}

const NAMESPACE = 'envoy-initializer';
/** Namespace of deploy/overlays/node-agent, which stays until all Networks are gone, to remove their leftovers. */
const NODE_AGENT = 'envoy-initializer-node-agent';
/** Labels of the objects of the manifests, and of those that the operator creates. */
const OURS = ['app=envoy-initializer', 'app.kubernetes.io/managed-by=envoy-initializer'];
/** Limits the operator's account to its own objects while the account has rights. */
const FENCE = 'envoy-initializer-fence';

/**
 * Removes the operator and all its objects in a safe order: first what could block pods, last what gives the operator
 * its rights. It ignores what does not exist, so you can run it again after a failure.
 * @throws Refusal without changes if Networks exist and `force` is false; and if a deletion does not end in time.
 */
export async function undeploy({ kubectl, force, timeoutSeconds, say }: UndeployOptions): Promise<void> {
  const networks = await findNetworks(kubectl);
  if (networks.length > 0 && !force) {
    throw new Refusal(
      `Networks exist, so nothing was removed (${named(networks)}): delete them, or write FORCE=1 to delete them and their real networks`,
    );
  }
  const timeout = `--timeout=${timeoutSeconds}s`;
  const remove = async (...what: readonly string[]) => {
    const removed = await lines(kubectl, ['delete', ...what, '--ignore-not-found', timeout]);
    for (const line of removed.filter((text) => !text.startsWith('No resources found'))) say(line);
  };
  const removeWebhooks = async () => {
    const kinds = await admissionKinds(kubectl);
    const others = `--field-selector=metadata.name!=${FENCE}`;
    for (const label of OURS) await remove(kinds, `--selector=${label}`, others);
  };

  await removeWebhooks();
  if (networks.length > 0) {
    say(`deleting Networks: ${named(networks)}`);
    // The operator still runs, because it removes the real networks.
    await deleteNetworks(kubectl, timeoutSeconds);
  }
  // In the foreground, so that its pods are gone, too, and write nothing more.
  await remove('deployments', `--namespace=${NAMESPACE}`, `--selector=${OURS[0]}`, '--cascade=foreground');
  // The operator may have created some in the meantime.
  await removeWebhooks();
  for (const pod of await liftGates(kubectl)) say(`pod ${pod} no longer waits for its Network`);
  for (const copy of await removeCopies(kubectl)) say(`configmap ${copy} deleted`);
  await remove('namespaces', NAMESPACE, NODE_AGENT);
  await remove('clusterrolebindings,clusterroles', `--selector=${OURS[0]}`);
  await remove('validatingadmissionpolicybindings,validatingadmissionpolicies', FENCE);
  await remove('crd', NETWORK_CRD);
}

/** The kinds of admission configuration that this API server has. */
async function admissionKinds(kubectl: Kubectl): Promise<string> {
  const group = '--api-group=admissionregistration.k8s.io';
  const names = await output(kubectl, ['api-resources', group, '--verbs=delete', '--output=name']);
  return names.trim().split('\n').join(',');
}

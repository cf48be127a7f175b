import { removeCopies } from './copies.ts';
import { liftGates } from './gates.ts';
import { type Kubectl, lines, output, Refusal } from './kubectl.ts';
import { deleteNetworks, findNetworks, NETWORK_CRD, named } from './networks.ts';

export interface UndeployOptions {
  readonly kubectl: Kubectl;
  /** Users' Networks are deleted, too. */
  readonly force: boolean;
  /** How long to wait for each thing to go. */
  readonly timeoutSeconds: number;
  /** Told what is done. */
  readonly say: (line: string) => void;
}

const NAMESPACE = 'envoy-initializer';
/** Of deploy/overlays/node-agent: it stays until all Networks are gone, to clean up after them. */
const NODE_AGENT = 'envoy-initializer-node-agent';
/** What the manifests make, and what the operator itself makes. */
const OURS = ['app=envoy-initializer', 'app.kubernetes.io/managed-by=envoy-initializer'];
/** What holds the operator's account to its own objects, for as long as the account has rights. */
const FENCE = 'envoy-initializer-fence';

/**
 * Removes the operator and all that belongs to it, in the order in which nothing is harmed: first what could block pods,
 * last what gives the operator its rights. What is gone already is passed over, so it can be run again at any point.
 * @throws Refusal, with nothing changed, while there are Networks and it is not told to delete them; and where
 * something does not go.
 */
export async function undeploy({ kubectl, force, timeoutSeconds, say }: UndeployOptions): Promise<void> {
  const networks = await findNetworks(kubectl);
  if (networks.length > 0 && !force) {
    throw new Refusal(
      `nothing is removed while there are users' Networks (${named(networks)}): delete them, or let FORCE=1 delete them and the networks behind them`,
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
    // While the operator still runs: it takes down what they made.
    await deleteNetworks(kubectl, timeoutSeconds);
  }
  // In the foreground, so that its pods are gone, too, and write nothing any more.
  await remove('deployments', `--namespace=${NAMESPACE}`, `--selector=${OURS[0]}`, '--cascade=foreground');
  // What it may have made in the meantime.
  await removeWebhooks();
  for (const pod of await liftGates(kubectl)) say(`pod ${pod} waits for its Network no longer`);
  for (const copy of await removeCopies(kubectl)) say(`configmap ${copy} deleted`);
  await remove('namespaces', NAMESPACE, NODE_AGENT);
  await remove('clusterrolebindings,clusterroles', `--selector=${OURS[0]}`);
  await remove('validatingadmissionpolicybindings,validatingadmissionpolicies', FENCE);
  await remove('crd', NETWORK_CRD);
}

/** The kinds by which the API server is told to change or refuse objects: those that this one has. */
async function admissionKinds(kubectl: Kubectl): Promise<string> {
  const group = '--api-group=admissionregistration.k8s.io';
  const names = await output(kubectl, ['api-resources', group, '--verbs=delete', '--output=name']);
  return names.trim().split('\n').join(',');
}

import { ENFORCE_LABEL } from '../../injection/podspec/pod-security.ts';
import { isNotFound } from '../../kube/api/api-error.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES } from '../../kube/api/core-resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { readServerVersion } from '../../kube/client/server-version.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS } from '../../networks/api/resources.ts';
import { PROGRAM } from '../../util/identity.ts';
import { isObject, own } from '../../util/json.ts';
import { withCluster } from '../cluster.ts';
import { installationOf } from '../installation.ts';
import type { OutputFormat } from '../io/output.ts';
import type { ExitCode, Terminal } from '../io/terminal.ts';
import { kindOf } from '../kind-of.ts';
import type { ClusterOptions } from '../options/tool-options.ts';
import { type Overlay, type PreinstallFacts, preinstallRows } from './preinstall-rows.ts';
import { isServed, tried } from './read-facts.ts';
import { printRows } from './status.ts';

/** Of the Gateway API. */
const HTTP_ROUTES = kindOf('gateway.networking.k8s.io/v1', 'HTTPRoute', 'httproutes');

export interface PreinstallOptions extends ClusterOptions {
  readonly overlay?: readonly Overlay[];
  readonly output: OutputFormat;
}

/** Prints whether the operator can be installed in the cluster. */
export async function preinstallCommand(options: PreinstallOptions, terminal: Terminal): Promise<ExitCode> {
  const facts = await withCluster(options, ({ client }) => readPreinstall(client, options));
  return printRows(terminal, options.output, preinstallRows(facts));
}

async function readPreinstall(client: KubeClient, options: PreinstallOptions): Promise<PreinstallFacts> {
  const { operatorNamespace: namespace, annotation: key, overlay: overlays = ['default'] } = options;
  const { gitVersion: server } = await readServerVersion(client);
  const [missingRights, served, installed, webhooks, agentsLevel] = await Promise.all([
    tried(() => missingRightsOf(client, overlays)),
    tried(async () => ({
      attachments: await isServed(client, NETWORK_ATTACHMENT_DEFINITIONS),
      httpRoutes: await isServed(client, HTTP_ROUTES),
      certificates: await serves(client, 'cert-manager.io/v1'),
      podMonitors: await serves(client, 'monitoring.coreos.com/v1'),
    })),
    tried(async () => (await installationOf(client, namespace))?.image),
    tried(async () => (await client.list(MUTATING_WEBHOOK_CONFIGURATIONS, {})).items.filter(isObject)),
    tried(() => enforcedLevel(client, `${PROGRAM}-node-agent`)),
  ]);
  return { server, namespace, overlays, key, missingRights, served, installed, webhooks, agentsLevel };
}

/** What `kubectl apply` of the manifests creates: the plural of each kind with its group. */
const APPLIED: Readonly<Record<string, readonly string[]>> = {
  '': ['namespaces', 'serviceaccounts', 'services'],
  'admissionregistration.k8s.io': [
    'mutatingwebhookconfigurations',
    'validatingwebhookconfigurations',
    'validatingadmissionpolicies',
    'validatingadmissionpolicybindings',
  ],
  'apiextensions.k8s.io': ['customresourcedefinitions'],
  apps: ['deployments'],
  'networking.k8s.io': ['networkpolicies'],
  policy: ['poddisruptionbudgets'],
  'rbac.authorization.k8s.io': ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
};

const APPLIED_BY: Readonly<Partial<Record<Overlay, typeof APPLIED>>> = {
  'cert-manager': { 'cert-manager.io': ['certificates', 'issuers'] },
  monitoring: { 'monitoring.coreos.com': ['podmonitors', 'prometheusrules'] },
  networks: { apps: ['daemonsets'] },
};

/** The rights that the user lacks, such as `create clusterroles.rbac.authorization.k8s.io`. */
async function missingRightsOf(client: KubeClient, overlays: readonly Overlay[]): Promise<readonly string[]> {
  const applied = [APPLIED, ...overlays.map((overlay) => APPLIED_BY[overlay] ?? {})];
  const asked = applied
    .flatMap((groups) => Object.entries(groups))
    .flatMap(([group, resources]) => resources.map((resource) => ({ group, resource })))
    .flatMap((each) => ['create', 'patch'].map((verb) => ({ ...each, verb })));
  // The API server refuses a role with rights that its author lacks, unless the author may escalate.
  const all = { group: '*', resource: '*', verb: '*' };
  const group = 'rbac.authorization.k8s.io';
  const escalations = ['roles', 'clusterroles'].map((resource) => ({ group, resource, verb: 'escalate' }));
  if (await isAllowed(client, all)) return [];
  const answers = await Promise.all(
    [...asked, ...escalations].map(async (right) => ({ right, allowed: await isAllowed(client, right) })),
  );
  return answers.flatMap(({ right: { group, resource, verb }, allowed }) =>
    allowed ? [] : [`${verb} ${resource}${group === '' ? '' : `.${group}`}`],
  );
}

interface Right {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
}

async function isAllowed(client: KubeClient, resourceAttributes: Right): Promise<boolean> {
  const kind = 'SelfSubjectAccessReview';
  const body = { apiVersion: 'authorization.k8s.io/v1', kind, spec: { resourceAttributes } };
  const answer = await client.request('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    body,
  });
  return isObject(answer) && own(own(answer, 'status'), 'allowed') === true;
}

async function serves(client: KubeClient, groupVersion: string): Promise<boolean> {
  try {
    await client.request('GET', `/apis/${groupVersion}`);
    return true;
  } catch (err) {
    if (isNotFound(err)) return false;
    throw err;
  }
}

async function enforcedLevel(client: KubeClient, name: string): Promise<string | undefined> {
  try {
    return (await client.get(NAMESPACES, { name })).metadata.labels?.[ENFORCE_LABEL];
  } catch (err) {
    if (isNotFound(err)) return undefined;
    throw err;
  }
}

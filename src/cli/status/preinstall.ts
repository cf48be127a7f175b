import { ENFORCE_LABEL } from '../../injection/podspec/pod-security.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES } from '../../kube/api/core-resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { readServerVersion } from '../../kube/client/server-version.ts';
import { PROGRAM } from '../../util/identity.ts';
import { isObject, own, ownObjects, ownString } from '../../util/json.ts';
import { withCluster } from '../cluster.ts';
import { installationOf } from '../installation.ts';
import type { OutputFormat } from '../io/output.ts';
import type { ExitCode, Terminal } from '../io/terminal.ts';
import type { ClusterOptions } from '../options/tool-options.ts';
import { absentIfMissing } from '../readable.ts';
import type { Read } from './facts.ts';
import { tried } from './read-facts.ts';
import { about, none, note, ok, problem, type StatusRow, serverVerdict, type Verdict } from './rows.ts';
import { printRows } from './status.ts';

/** The overlays of deploy/overlays, and the component that needs another project. */
export const OVERLAYS = [
  'default',
  'all-pods',
  'cert-manager',
  'gateway-api',
  'kind',
  'monitoring',
  'networks',
  'neutron-pods',
  'repair',
  'rollout',
  'without-policies',
] as const;

export type Overlay = (typeof OVERLAYS)[number];

/** What other projects must bring before an overlay: the group and version of their kinds, and their name. */
const NEEDED: readonly (readonly [Overlay, groupVersion: string, project: string])[] = [
  ['cert-manager', 'cert-manager.io/v1', 'cert-manager'],
  ['monitoring', 'monitoring.coreos.com/v1', 'Prometheus Operator'],
  ['networks', 'k8s.cni.cncf.io/v1', 'Multus'],
];

/** What `check --pre` knows about a cluster without the operator. */
export interface PreinstallFacts {
  readonly server: string;
  readonly namespace: string;
  readonly overlays: readonly Overlay[];
  /** What the user may not do, such as `create clusterroles.rbac.authorization.k8s.io`. */
  readonly missingRights: Read<readonly string[]>;
  /** The groups and versions of NEEDED that the API server serves. */
  readonly served: Read<readonly string[]>;
  /** The image of an operator that is installed already. */
  readonly installed: Read<string | undefined>;
  /** The namespace that the operator's webhooks call. */
  readonly webhooksCall: Read<string | undefined>;
  /** The level of pod security of the namespace of the node agents, if it exists. */
  readonly agentsLevel: Read<string | undefined>;
}

export interface PreinstallOptions extends ClusterOptions {
  readonly overlay?: readonly Overlay[];
  readonly output: OutputFormat;
}

/** Prints whether the operator can be installed in the cluster. */
export async function preinstallCommand(options: PreinstallOptions, terminal: Terminal): Promise<ExitCode> {
  const facts = await withCluster(options, ({ client }) => readPreinstall(client, options));
  return printRows(terminal, options.output, preinstallRows(facts));
}

/** Whether the operator can be installed, and what to know before. */
export function preinstallRows(facts: PreinstallFacts): readonly StatusRow[] {
  const { server, missingRights, served, overlays } = facts;
  const rights = about(missingRights, (missing) =>
    missing.length === 0
      ? ok('you may apply the manifests')
      : problem(`you may not ${missing.join(', ')}`, 'apply the manifests as cluster-admin'),
  );
  return [
    { check: 'server', ...serverVerdict(server) },
    { check: 'rights', ...rights },
    { check: 'installed', ...installed(facts) },
    ...NEEDED.map(([overlay, groupVersion, project]) => {
      const verdict = about(served, (all) => {
        if (all.includes(groupVersion)) return ok('the API server has its kinds');
        const text = `the overlay ${overlay} needs it`;
        return overlays.includes(overlay) ? problem(text, `install ${project} first`) : none(text);
      });
      return { check: project.toLowerCase(), ...verdict };
    }),
    { check: 'pod security', ...podSecurity(facts) },
  ];
}

function installed({ installed, namespace, webhooksCall }: PreinstallFacts): Verdict {
  return about(installed, (image) => {
    if (image !== undefined)
      return note(`${image} is in namespace ${namespace}: applying the manifests upgrades it`);
    const other = 'value' in webhooksCall ? webhooksCall.value : undefined;
    return other === undefined || other === namespace
      ? ok(`not in namespace ${namespace}`)
      : problem(
          `in namespace ${other}: an operator in ${namespace} would take its roles and webhooks`,
          `use --operator-namespace=${other}, or uninstall that operator first`,
        );
  });
}

const AGENTS = `${PROGRAM}-node-agent`;

function podSecurity({ agentsLevel, overlays }: PreinstallFacts): Verdict {
  if (!overlays.includes('networks') && !overlays.includes('kind'))
    return ok('the operator complies with restricted');
  return about(agentsLevel, (level) => {
    if (level === undefined || level === 'privileged') return ok('node agents may run');
    return problem(
      `namespace ${AGENTS} enforces ${level}, but node agents use the network of the node`,
      `kubectl label --overwrite namespace ${AGENTS} ${ENFORCE_LABEL}=privileged`,
    );
  });
}

async function readPreinstall(client: KubeClient, options: PreinstallOptions): Promise<PreinstallFacts> {
  const { operatorNamespace: namespace, overlay: overlays = ['default'] } = options;
  const { gitVersion: server } = await readServerVersion(client);
  const [missingRights, served, installed, webhooksCall, agentsLevel] = await Promise.all([
    tried(() => missingRightsOf(client, overlays)),
    tried(async () => {
      const found = NEEDED.map(async ([, groupVersion]) => {
        const list = await absentIfMissing(client.request('GET', `/apis/${groupVersion}`));
        return list === undefined ? [] : [groupVersion];
      });
      return (await Promise.all(found)).flat();
    }),
    tried(async () => (await installationOf(client, namespace))?.image),
    tried(async () => {
      const found: unknown = await absentIfMissing(
        client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: PROGRAM }),
      );
      return ownObjects(isObject(found) ? found : {}, 'webhooks')
        .map((webhook) => ownString(own(own(webhook, 'clientConfig'), 'service'), 'namespace'))
        .find((each) => each !== undefined);
    }),
    tried(async () => {
      const found = await absentIfMissing(client.get(NAMESPACES, { name: AGENTS }));
      return found?.metadata.labels?.[ENFORCE_LABEL];
    }),
  ]);
  return { server, namespace, overlays, missingRights, served, installed, webhooksCall, agentsLevel };
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
  if (await isAllowed(client, { group: '*', resource: '*', verb: '*' })) return [];
  const asked = [APPLIED, ...overlays.map((overlay) => APPLIED_BY[overlay] ?? {})]
    .flatMap((groups) => Object.entries(groups))
    .flatMap(([group, resources]) => resources.map((resource) => ({ group, resource })))
    .flatMap((each) => ['create', 'patch'].map((verb) => ({ ...each, verb })));
  // The API server refuses a role with rights that its author lacks, unless the author may escalate.
  const group = 'rbac.authorization.k8s.io';
  const escalations = ['roles', 'clusterroles'].map((resource) => ({ group, resource, verb: 'escalate' }));
  const answers = await Promise.all(
    [...asked, ...escalations].map(async (right) => ({ ...right, allowed: await isAllowed(client, right) })),
  );
  return answers.flatMap(({ group, resource, verb, allowed }) =>
    allowed ? [] : [`${verb} ${resource}${group === '' ? '' : `.${group}`}`],
  );
}

async function isAllowed(
  client: KubeClient,
  resourceAttributes: { readonly group: string; readonly resource: string; readonly verb: string },
): Promise<boolean> {
  const kind = 'SelfSubjectAccessReview';
  const body = { apiVersion: 'authorization.k8s.io/v1', kind, spec: { resourceAttributes } };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const answer = await client.request('POST', path, { body });
  return isObject(answer) && own(own(answer, 'status'), 'allowed') === true;
}

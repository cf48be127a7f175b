import { selects } from '../../injection/podspec/label-selector.ts';
import { PROGRAM } from '../../util/identity.ts';
import { isArray, type JsonObject, own, ownObjects, ownString } from '../../util/json.ts';
import type { Read } from './facts.ts';
import {
  about,
  firstOf,
  minorOf,
  none,
  note,
  ok,
  problem,
  type StatusRow,
  serverVerdict,
  type Verdict,
} from './rows.ts';

/** The overlays of deploy/overlays, and the component that needs another project. */
export const OVERLAYS = [
  'default',
  'all-pods',
  'cert-manager',
  'gateway-api',
  'monitoring',
  'networks',
  'neutron-pods',
  'repair',
  'rollout',
  'without-policies',
] as const;

export type Overlay = (typeof OVERLAYS)[number];

/** Kubernetes has MutatingAdmissionPolicy v1 since this version. */
const POLICY_MINOR = 36;

/** What `check --pre` knows about a cluster without the operator. */
export interface PreinstallFacts {
  readonly server: string;
  readonly namespace: string;
  readonly overlays: readonly Overlay[];
  /** The opt-in key. */
  readonly key: string;
  /** What the user may not do, such as `create clusterroles.rbac.authorization.k8s.io`. */
  readonly missingRights: Read<readonly string[]>;
  /** Whether the API server serves the kinds of other projects. */
  readonly served: Read<
    Readonly<Record<'attachments' | 'httpRoutes' | 'certificates' | 'podMonitors', boolean>>
  >;
  /** The image of an operator that is installed already. */
  readonly installed: Read<string | undefined>;
  /** All MutatingWebhookConfigurations. */
  readonly webhooks: Read<readonly JsonObject[]>;
  /** The level of pod security of the namespace of the node agents, if it exists. */
  readonly agentsLevel: Read<string | undefined>;
}

/** Whether the operator can be installed, and what to know before. */
export function preinstallRows(facts: PreinstallFacts): readonly StatusRow[] {
  return [
    { check: 'server', ...serverVerdict(facts.server) },
    { check: 'rights', ...rights(facts) },
    { check: 'installed', ...installed(facts) },
    { check: 'policies', ...policies(facts) },
    {
      check: 'cert-manager',
      ...needed(facts, 'cert-manager', 'certificates', 'install cert-manager first'),
    },
    { check: 'gateway api', ...gatewayApi(facts) },
    {
      check: 'prometheus operator',
      ...needed(facts, 'monitoring', 'podMonitors', 'install Prometheus Operator first'),
    },
    { check: 'multus', ...needed(facts, 'networks', 'attachments', 'install Multus first') },
    { check: 'pod security', ...podSecurity(facts) },
    { check: 'other injectors', ...otherInjectors(facts) },
  ];
}

function rights({ missingRights }: PreinstallFacts): Verdict {
  return about(missingRights, (missing) =>
    missing.length === 0
      ? ok('you may apply the manifests')
      : problem(`you may not ${missing.join(', ')}`, 'apply the manifests as cluster-admin'),
  );
}

function installed({ installed, namespace, webhooks }: PreinstallFacts): Verdict {
  return about(installed, (image) => {
    if (image !== undefined)
      return note(`${image} is in namespace ${namespace}: applying the manifests upgrades it`);
    const other = 'value' in webhooks ? namespaceOfWebhooks(webhooks.value) : undefined;
    return other === undefined || other === namespace
      ? ok(`not in namespace ${namespace}`)
      : problem(
          `in namespace ${other}: an operator in ${namespace} would take its roles and webhooks`,
          `use --operator-namespace=${other}, or uninstall that operator first`,
        );
  });
}

/** The namespace that the operator's webhooks call. */
function namespaceOfWebhooks(configurations: readonly JsonObject[]): string | undefined {
  return configurations
    .filter(isOurs)
    .flatMap((configuration) => ownObjects(configuration, 'webhooks'))
    .map((webhook) => ownString(own(own(webhook, 'clientConfig'), 'service'), 'namespace'))
    .find((namespace) => namespace !== undefined);
}

function isOurs(configuration: JsonObject): boolean {
  return ownString(own(configuration, 'metadata'), 'name') === PROGRAM;
}

function policies({ server, overlays }: PreinstallFacts): Verdict {
  if (overlays.includes('without-policies')) return none('the overlay without-policies has none');
  const minor = minorOf(server);
  if (minor !== undefined && minor < POLICY_MINOR)
    return note(`Kubernetes 1.${POLICY_MINOR} has them: in this cluster the webhook injects all pods`);
  return ok('the API server injects most pods also while no replica runs');
}

/** A kind of another project that an overlay needs. */
function needed(
  { served, overlays }: PreinstallFacts,
  overlay: Overlay,
  kind: 'certificates' | 'podMonitors' | 'attachments',
  advice: string,
): Verdict {
  return about(served, (kinds) => {
    if (kinds[kind]) return ok('the API server has its kinds');
    if (overlays.includes(overlay)) return problem(`the overlay ${overlay} needs it`, advice);
    return none(`the overlay ${overlay} needs it`);
  });
}

/** The overlay gateway-api is the CRD of HTTPRoutes, which another project may have installed. */
function gatewayApi({ served, overlays }: PreinstallFacts): Verdict {
  return about(served, ({ httpRoutes }) => {
    const isAdded = overlays.includes('gateway-api');
    if (!httpRoutes)
      return isAdded
        ? ok('the overlay gateway-api adds HTTPRoutes')
        : none('no HTTPRoutes: the overlay gateway-api adds them');
    if (!isAdded) return ok('the API server has HTTPRoutes');
    return note('the API server has HTTPRoutes: leave out the overlay gateway-api, unless they are from it');
  });
}

function podSecurity({ agentsLevel, overlays }: PreinstallFacts): Verdict {
  if (!overlays.includes('networks')) return ok('the operator complies with restricted');
  return about(agentsLevel, (level) => {
    if (level === undefined || level === 'privileged') return ok('node agents may run');
    const namespace = `${PROGRAM}-node-agent`;
    return problem(
      `namespace ${namespace} enforces ${level}, but node agents use the network of the node`,
      `kubectl label --overwrite namespace ${namespace} pod-security.kubernetes.io/enforce=privileged`,
    );
  });
}

function otherInjectors({ webhooks, key }: PreinstallFacts): Verdict {
  return about(webhooks, (configurations) => {
    const names = configurations
      .filter((configuration) => !isOurs(configuration))
      .flatMap((configuration) => ownObjects(configuration, 'webhooks'))
      .filter((webhook) => takesPods(webhook, key))
      .map((webhook) => ownString(webhook, 'name') ?? '');
    if (names.length === 0) return ok('no other webhook changes the same pods');
    return note(
      `${firstOf(names)} also get new pods: if one adds what the template adds, see the reason conflict`,
    );
  });
}

/** Whether a webhook gets a new pod that opts in, in a namespace that opts in. */
function takesPods(webhook: JsonObject, key: string): boolean {
  const includes = (rule: JsonObject, field: string, value: string) => {
    const list = own(rule, field);
    return isArray(list) && (list.includes(value) || list.includes('*'));
  };
  const takes = ownObjects(webhook, 'rules').some(
    (rule) =>
      includes(rule, 'apiGroups', '') &&
      includes(rule, 'resources', 'pods') &&
      includes(rule, 'operations', 'CREATE'),
  );
  const labels = { [key]: 'true' };
  const namespaceLabels = { ...labels, 'kubernetes.io/metadata.name': 'default' };
  return (
    takes &&
    selects(own(webhook, 'namespaceSelector'), namespaceLabels) &&
    selects(own(webhook, 'objectSelector'), labels)
  );
}

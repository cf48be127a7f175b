import { ovsConfig } from '../../../src/addons/neutron/pods/port-plan.ts';
import { cniConfig } from '../../../src/networks/multus/cni-config.ts';
import { CLEAN as SAFE } from '../injection/plausible-pods.ts';

/** A call of kubectl, and what it reads. */
export interface FencedCall {
  readonly args: readonly string[];
  readonly input?: object;
}

const GATE = 'samplecrd.k8s.io/network';
const MULTUS = 'k8s.v1.cni.cncf.io/networks';
const FINALIZER = 'samplecrd.k8s.io/network-cleanup';
const COPY = { 'initializer.kubernetes.io/copy-of': 'envoy-initializer' };
const ROUTES = { 'initializer.kubernetes.io/routes-of': 'envoy-initializer' };
const HOME = '--namespace=envoy-initializer';
const WEBHOOKS = 'mutatingwebhookconfiguration/envoy-initializer';
const SHAPE = { cidr: '10.1.0.0/16', gateway: '10.1.0.1' };
const CONFIG = cniConfig('default/ours', 1450);
const SPEC = { containers: [{ name: 'app', image: 'app' }] };
const STATUS = 'initializer.kubernetes.io/envoy-status';
const DRAIN = 'initializer.kubernetes.io/drain';
const injectedStatus = (sha256: string, containers: readonly string[] = ['envoy']) =>
  JSON.stringify({
    version: 1,
    templates: [{ name: 'config', sha256 }],
    added: { volumes: ['app'], containers },
  });
const INJECTED_SPEC = {
  containers: ['app', 'envoy'].map((name) => ({ name, image: name, resources: { requests: { cpu: '1m' } } })),
  initContainers: [{ name: 'app-init', image: 'app' }],
};

const object = (
  apiVersion: string,
  kind: string,
  name: string,
  rest: object = {},
  metadata: object = {},
) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: 'default', ...metadata },
  ...rest,
});
const NEW = {
  apiVersion: 'samplecrd.k8s.io/v1',
  kind: 'Network',
  metadata: { name: 'new', namespace: 'default', uid: 'a' },
  spec: { cidr: 'fd00::/64', gateway: 'fd00::1', mtu: 1400 },
} as const;
const configMap = (name: string, metadata: object = {}) =>
  object('v1', 'ConfigMap', name, { data: { 'envoy.json': '{}' } }, metadata);
const secret = (name: string, type: string, metadata: object = {}) =>
  object('v1', 'Secret', name, { type, data: { 'tls.crt': '', 'tls.key': '' } }, metadata);
const network = (name: string, metadata: object = {}) =>
  object('samplecrd.k8s.io/v1', 'Network', name, { spec: SHAPE }, metadata);
const owner = (name: string) => ({
  ownerReferences: [{ apiVersion: 'samplecrd.k8s.io/v1', kind: 'Network', name, uid: 'a', controller: true }],
});
/** Another owner than a Network, of whatever name. */
const OTHER_OWNER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'any', uid: 'b' };
const ownedBy = (reference: object) => ({
  ownerReferences: [{ ...OTHER_OWNER, name: 'mine', ...reference }],
});
const madeFor = (uid: string) => ({ annotations: { 'samplecrd.k8s.io/network-uid': uid } });
const attachment = (name: string, config: string, metadata: object = owner(name)) =>
  object('k8s.cni.cncf.io/v1', 'NetworkAttachmentDefinition', name, { spec: { config } }, metadata);
const definition = (name: string, rest: object) =>
  object('k8s.cni.cncf.io/v1', 'NetworkAttachmentDefinition', name, rest, owner(name));
const webhookConfiguration = (name: string) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name },
  webhooks: [
    {
      name: 'envoy.initializer.kubernetes.io',
      clientConfig: { service: { name: 'a', namespace: 'b' } },
      rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }],
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
    },
  ],
});
const event = (reportingController: string, name = 'event') =>
  object('events.k8s.io/v1', 'Event', name, {
    eventTime: '2026-01-01T00:00:00.000000Z',
    type: 'Normal',
    reason: 'Lied',
    action: 'Lie',
    regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'gated' },
    reportingController,
    reportingInstance: 'a',
  });
const lease = (name: string, metadata: object = {}) =>
  object('coordination.k8s.io/v1', 'Lease', name, { spec: { holderIdentity: 'a' } }, metadata);
const slice = (name: string, labels: object) =>
  object(
    'discovery.k8s.io/v1',
    'EndpointSlice',
    name,
    { addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.2'] }] },
    { labels },
  );
const inOurs = { namespace: 'envoy-initializer' };
const PROVEN = object(
  'v1',
  'Pod',
  'proof',
  {
    spec: {
      serviceAccountName: 'envoy-initializer',
      containers: [{ name: 'app', image: 'app', securityContext: SAFE }],
    },
  },
  inOurs,
);

const OUR_SLICE = { 'endpointslice.kubernetes.io/managed-by': 'envoy-initializer' };

/** What there is, made by the admin, for the account to be held back from. */
// biome-ignore format: a line for each case
export const FENCED_OBJECTS: readonly object[] = [
  object('v1', 'ServiceAccount', 'default'),
  object(
    'v1',
    'Pod',
    'gated',
    { spec: { ...SPEC, schedulingGates: [{ name: 'example.com/other' }, { name: GATE }] } },
    { finalizers: ['example.com/theirs'], annotations: { [MULTUS]: 'blue' } },
  ),
  object('v1', 'Pod', 'plain', { spec: SPEC }),
  object('v1', 'Pod', 'injected', { spec: INJECTED_SPEC }, { annotations: { [STATUS]: injectedStatus('old') } }),
  slice('theirs', {}),
  slice('listed', OUR_SLICE),
  object('apps/v1', 'Deployment', 'web', {
    spec: {
      replicas: 0,
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: SPEC },
    },
  }),
  configMap('envoy'),
  configMap('envoy', { namespace: 'kube-public', labels: COPY }),
  configMap('envoy-routes'),
  configMap('envoy-routes', { namespace: 'kube-public', labels: ROUTES }),
  configMap('envoy-initializer', inOurs),
  secret('envoy-initializer-tls', 'kubernetes.io/tls', inOurs),
  secret('theirs', 'kubernetes.io/tls'),
  lease('envoy-initializer', inOurs),
  lease('leader', { namespace: 'kube-system' }),
  network('theirs', { finalizers: ['example.com/theirs', FINALIZER] }),
  // The garbage collector takes along what an owner has left: it is looked at again where the owner is there.
  attachment('ours', CONFIG, { ...owner('ours'), finalizers: ['example.com/theirs', FINALIZER] }),
  attachment('theirs', '{"type":"macvlan"}', { finalizers: ['example.com/theirs', FINALIZER] }),
  attachment('stripped', CONFIG, { finalizers: ['example.com/theirs', FINALIZER] }),
  attachment('disowned', CONFIG, { ...madeFor('a'), finalizers: ['example.com/theirs', FINALIZER] }),
  attachment('lost', CONFIG, { ...madeFor('a'), finalizers: ['example.com/theirs', FINALIZER] }),
  attachment('shared', CONFIG, {
    ownerReferences: [
      OTHER_OWNER,
      ...owner('shared').ownerReferences.map((o) => ({ ...o, controller: false })),
    ],
    finalizers: ['example.com/theirs', FINALIZER],
  }),
  attachment('led', CONFIG, { ownerReferences: [{ ...OTHER_OWNER, controller: true }], finalizers: ['example.com/theirs', FINALIZER] }),
  attachment('noted', CONFIG, {
    ...owner('noted'),
    labels: { 'example.com/team': 'blue' },
    annotations: { 'example.com/note': 'theirs' },
    finalizers: ['example.com/theirs', FINALIZER],
  }),
  event('example.com/other', 'theirs'),
  event('envoy-initializer', 'ours'),
];

const create = (input: object): FencedCall => ({ args: ['create', '-f', '-'], input });
const applied = (input: object): FencedCall => ({
  args: ['apply', '--server-side', '--force-conflicts', '-f', '-'],
  input,
});
const replace = (input: object): FencedCall => ({ args: ['replace', '-f', '-'], input });
const remove = (...what: readonly string[]): FencedCall => ({ args: ['delete', '--wait=false', ...what] });
const merge = (target: string, patch: object, ...flags: readonly string[]): FencedCall => ({
  args: ['patch', target, ...flags, '--type=merge', '--patch', JSON.stringify(patch)],
});
/** A change of a NetworkAttachmentDefinition, and one of its configuration. */
const redefine = (name: string, change: object) => merge(`net-attach-def/${name}`, change);
const configure = (config: string, name = 'ours') => redefine(name, { spec: { config } });
const run = (line: string): FencedCall => ({ args: line.split(' ') });
const patch = (target: string, operations: readonly object[], ...flags: readonly string[]): FencedCall => ({
  args: ['patch', target, ...flags, '--type=json', '--patch', JSON.stringify(operations)],
});
const post = (path: string, input: object = {}): FencedCall => ({
  args: ['create', '--raw', path, '-f', '-'],
  input,
});
const set = (path: string, value: unknown) => [{ op: 'add', path, value }];

/** The text with another part. */
function changed(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`${from} is not in ${text}`);
  return text.replace(from, to);
}

const MAY_NOT =
  /the account of envoy-initializer may not [A-Z]+ [a-z./0-9-]+: it may write its own ConfigMaps/;
const PROOF = /may create pods of its own namespace as a dry run alone/;
const POD = /may change nothing of a pod but remove its scheduling gate samplecrd\.k8s\.io\/network/;
const REVISION = /may write those ControllerRevisions of its own namespace alone whose names begin with/;
const SLICE = /may write those EndpointSlices alone that have its label/;
const NEW_MAP = /may create the ConfigMaps envoy-initializer and envoy of its own namespace/;
const OLD_MAP = /may update the ConfigMap envoy of other namespaces alone/;
const SECRET =
  /may write one Secret, envoy-initializer-tls of its own namespace, of type kubernetes\.io\/tls/;
const LEASE = /may write one Lease, envoy-initializer of its own namespace/;
const EVENT = /may write Events of its own alone/;
const NETWORK = /may change nothing of a Network but its status and the finalizer/;
const OWN = /may write those NetworkAttachmentDefinitions alone that a Network of the same name owns/;
const BRIDGE = /may configure in a NetworkAttachmentDefinition one bridge nw-… with the IPAM plugin/;
const ENTRIES = /may write no labels and annotations of a NetworkAttachmentDefinition but its own/;
const BUNDLES = /may change nothing of its webhook configurations, envoy-initializer, but the caBundle/;

const told = (told: RegExp, calls: readonly (readonly [what: string, FencedCall])[]) =>
  calls.map(([what, call]) => [what, call, told] as const);

/** What a thief of the token tries, and what it is told. */
// biome-ignore format: a line for each case
export const MISUSES: readonly (readonly [what: string, FencedCall, told: RegExp])[] = [
  ...told(BUNDLES, [
    ['sends the reviews of pods to a server of its own', patch(WEBHOOKS, set('/webhooks/0/clientConfig', { url: 'https://example.com/' }))],
    ['sees all objects by the webhook', patch(WEBHOOKS, set('/webhooks/0/rules/0/resources', ['*']))],
    ['lets pods pass that no webhook has seen', patch(WEBHOOKS, set('/webhooks/0/failurePolicy', 'Ignore'))],
    ['removes a webhook', patch(WEBHOOKS, [{ op: 'remove', path: '/webhooks/0' }])],
    ['replaces the webhooks by server-side apply', applied(webhookConfiguration('envoy-initializer'))],
    ['hands the webhooks to another owner', patch(WEBHOOKS, set('/metadata/ownerReferences', [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'a' }]))],
  ]),
  ...told(MAY_NOT, [
    ['creates a webhook', create(webhookConfiguration('mine'))],
    ['deletes the webhooks as a collection', run('delete --raw /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations')],
    ['binds itself to cluster-admin', run('create clusterrolebinding mine --clusterrole=cluster-admin --serviceaccount=default:default')],
    ['gives its role more rights', patch('clusterrole/envoy-initializer', set('/rules/-', { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }))],
    ['asks for the token of another account', run('create token default')],
    ['runs a program in a pod', post('/api/v1/namespaces/default/pods/gated/exec?command=sh')],
    ['evicts a pod', post('/api/v1/namespaces/default/pods/gated/eviction', object('policy/v1', 'Eviction', 'gated'))],
    ['deletes a pod', remove('pod/gated')],
    ['writes the status of a pod', merge('pod/gated', { status: { phase: 'Failed' } }, '--subresource=status')],
    ['resizes a pod', patch('pod/injected', set('/spec/containers/1/resources/requests/cpu', '2m'), '--subresource=resize')],
    ['labels a namespace as privileged', run('label namespace default pod-security.kubernetes.io/enforce=privileged')],
    ['deletes a ConfigMap', remove('configmap/envoy')],
    ['deletes its Secret', remove('secret/envoy-initializer-tls', HOME)],
    ['creates a Network', create(network('mine'))],
    ['deletes a Network', remove('network/theirs')],
  ]),
  ...told(PROOF, [
    ['creates a pod', create(object('v1', 'Pod', 'mine', { spec: SPEC }))],
    ['creates a pod in its own namespace', create(PROVEN)],
    ['tries a pod in another namespace', { args: ['create', '--dry-run=server', '-f', '-'], input: object('v1', 'Pod', 'mine', { spec: SPEC }) }],
  ]),
  ...told(POD, [
    ['labels a pod, and so puts it behind a Service', run('label pod gated a=b')],
    ['annotates a pod beside the touch', run('annotate pod gated a=b initializer.kubernetes.io/envoy-routes=c')],
    ['drains a pod', run(`annotate pod injected ${DRAIN}=100`)],
    ['changes the image of a sidecar', patch('pod/injected', set('/spec/containers/1/image', 'mine'))],
    ['writes the status of a sidecar', run(`annotate --overwrite pod injected ${STATUS}=${injectedStatus('new')}`)],
    ['takes the addresses of a pod away', run(`annotate pod gated ${MULTUS}-`)],
    ['attaches a pod to a network', merge('pod/plain', { metadata: { annotations: { [MULTUS]: 'kube-system/theirs' } } })],
    ['changes the image of a pod', patch('pod/gated', set('/spec/containers/0/image', 'mine'))],
    ['removes the gate of another', patch('pod/gated', [{ op: 'remove', path: '/spec/schedulingGates/0' }])],
    ['removes the finalizer of another from a pod', merge('pod/gated', { metadata: { finalizers: null } })],
  ]),
  ...told(SLICE, [
    ['takes over a Service', create(slice('mine', { 'kubernetes.io/service-name': 'web' }))],
    ['takes the endpoints of a Service', merge('endpointslice/theirs', { endpoints: [] })],
    ['labels the endpoints of others as its own', merge('endpointslice/theirs', { metadata: { labels: OUR_SLICE } })],
    ['deletes the endpoints of a Service', remove('endpointslice/theirs')],
  ]),
  ...told(OLD_MAP, [
    ['writes over a user’s ConfigMap envoy', merge('configmap/envoy', { data: { 'envoy.json': '' } })],
    ['takes a user’s ConfigMap envoy over by its label', merge('configmap/envoy', { metadata: { labels: COPY } })],
    ['changes the template', merge('configmap/envoy-initializer', { data: { config: '' } }, HOME)],
  ]),
  ...told(NEW_MAP, [['creates another ConfigMap', create(configMap('mine'))]]),
  ...told(SECRET, [
    [
      'creates a Secret that an account’s token would be put into',
      create(
        secret('envoy-initializer-token', 'kubernetes.io/service-account-token', {
          ...inOurs,
          annotations: { 'kubernetes.io/service-account.name': 'default' },
        }),
      ),
    ],
    ['creates its Secret elsewhere', create(secret('envoy-initializer-tls', 'kubernetes.io/tls'))],
    ['changes another Secret', merge('secret/theirs', { data: { 'tls.crt': 'YQ==' } })],
  ]),
  ...told(LEASE, [
    ['takes the lead of another controller', merge('lease/leader', { spec: { holderIdentity: 'b' } }, '--namespace=kube-system')],
    ['creates another Lease', create(lease('mine', inOurs))],
  ]),
  ...told(EVENT, [
    ['writes an Event as another', create(event('example.com/other', 'mine'))],
    ['changes the Event of another', merge('events.events.k8s.io/theirs', { series: { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' } })],
  ]),
  ...told(NETWORK, [
    ['changes what a Network is', merge('network/theirs', { spec: { mtu: 1400 } })],
    ['replaces a Network', replace(network('theirs', { labels: { a: 'b' } }))],
    ['removes the finalizer of another from a Network', merge('network/theirs', { metadata: { finalizers: [FINALIZER] } })],
  ]),
  ...told(OWN, [
    ['creates a definition that no Network owns', create(attachment('mine', CONFIG, {}))],
    ['creates a definition that a Network of another name owns', create(attachment('mine', CONFIG, owner('theirs')))],
    ['creates a definition that a Network of another group owns', create(attachment('mine', CONFIG, ownedBy({ apiVersion: 'example.com/v1', kind: 'Network' })))],
    ['creates a definition that claims to be made for a Network', create(attachment('mine', CONFIG, madeFor('a')))],
    [
      'takes a definition over that another controller has',
      redefine('led', {
        metadata: {
          ...madeFor('a'),
          ownerReferences: [
            { ...OTHER_OWNER, controller: true },
            ...owner('led').ownerReferences.map((o) => ({ ...o, controller: false })),
          ],
        },
        spec: { config: cniConfig('default/led', 1400) },
      }),
    ],
    [
      'takes a definition over for something else of its name',
      redefine('stripped', {
        metadata: {
          ownerReferences: [{ ...OTHER_OWNER, apiVersion: 'samplecrd.k8s.io/v1', name: 'stripped', uid: 'a' }],
          ...madeFor('a'),
        },
        spec: { config: cniConfig('default/stripped', 1400) },
      }),
    ],
    ['gives its definition another owner', redefine('ours', { metadata: { ownerReferences: [...owner('ours').ownerReferences, OTHER_OWNER] } })],
    [
      'takes another owner from its definition',
      redefine('shared', {
        metadata: {
          ownerReferences: owner('shared').ownerReferences.map((o) => ({ ...o, controller: false })),
        },
      }),
    ],
    ['changes the definition of another', redefine('theirs', { spec: { config: cniConfig('default/theirs', 1450) } })],
    ['makes itself the owner of a definition of another', redefine('theirs', { metadata: owner('theirs'), spec: { config: '{}' } })],
    ['marks a definition of another as its own', redefine('theirs', { metadata: madeFor('a') })],
    ['marks a definition that has no owner as that of another Network', redefine('lost', { metadata: madeFor('b') })],
    ['deletes the definition of another', remove('net-attach-def/theirs')],
    ['deletes all definitions', run('delete --raw /apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions')],
    ['removes the finalizer of another from its definition', redefine('ours', { metadata: { finalizers: null } })],
  ]),
  ...told(BRIDGE, [
    ['takes a node’s interface by another CNI plugin', configure(CONFIG.replace('"bridge"', '"host-device"'))],
    ['plugs pods into another bridge of Open vSwitch', configure(ovsConfig(NEW, 1442).replace('br-int', 'br-ex'))],
    ['chains a second CNI plugin', redefine('ours', { spec: { config: CONFIG.replace('[{', '[{"type":"host-device"},{') } })],
    ['names another CNI plugin by a key in capitals', redefine('ours', { spec: { config: CONFIG.replace('[{', '[{"Type":"host-device",') } })],
    ['names another CNI plugin by an escape', redefine('ours', { spec: { config: CONFIG.replace('[{', '[{"\\u0074ype":"host-device",') } })],
    ['joins another bridge of the node', configure(CONFIG.replace(/nw-\w+/, 'cni0'))],
    ['names a configuration on the node', configure('')],
    ['takes the spec away', redefine('ours', { spec: null })],
    ['creates a definition without a configuration', create(definition('mine', { spec: {} }))],
    ['creates a definition with the bridge of the node’s own network, by leaving its name out', create(attachment('mine', CONFIG.replace(/"bridge":"nw-\w+",/, '')))],
    ['leaves the name of the bridge out, beside a plugin that has it twice', configure(CONFIG.replace('[{', '[{"type":"bridge"},{"bridge":"nw-0123456789ab",'))],
    ['makes a plugin run itself for its addresses', redefine('ours', { spec: { config: CONFIG.replace('"envoy-initializer-ipam"', '"bridge","bridge":"nw-0123456789ab"') } })],
  ]),
  ...told(ENTRIES, [
    [
      'creates a definition that has a device plugin give pods devices',
      create(
        attachment('mine', CONFIG, {
          ...owner('mine'),
          annotations: { 'k8s.v1.cni.cncf.io/resourceName': 'example.com/gpu' },
        }),
      ),
    ],
    ['creates a definition with a label that a policy may go by', create(attachment('mine', CONFIG, { ...owner('mine'), labels: { a: 'b' } }))],
    ['changes an annotation of a user', redefine('noted', { metadata: { annotations: { 'example.com/note': 'mine' } } })],
  ]),
  ...(
    [
      ['makes the node a gateway', '"isGateway":false', '"isGateway":true'],
      ['adds a setting beside the MTU', '"mtu":1450', '"mtu":1450,"vlan":7'],
      ['asks for more capabilities', '"ips":true,', '"ips":true,"portMappings":true,'],
      ['adds a setting beside the share', '"ipam":{', '"ipam":{"shared":true,"args":{},'],
      ['adds something behind', '}]}', '}],"disableCheck":true}'],
    ] as const
  ).map(
    ([what, from, to]) =>
      [`${what} in its definition`, configure(changed(CONFIG, from, to)), BRIDGE] as const,
  ),
  ...(
    [
      ['has addresses of its choice', '{"type":"static"}', '{"type":"static","addresses":[]}'],
      ['adds something behind', '}]}', '}],"disableCheck":true}'],
    ] as const
  ).map(
    ([what, from, to]) =>
      [
        `${what} in its definition of Open vSwitch`,
        configure(changed(ovsConfig(NEW, 1442), from, to)),
        BRIDGE,
      ] as const,
  ),
];

const RESIZE = '--subresource=resize';
const revision = (name: string, metadata: object = {}) =>
  object('apps/v1', 'ControllerRevision', name, { data: {}, revision: 1 }, metadata);

/** What the operator does with deploy/overlays/rollout alone. */
export const ROLLOUT_NEED = run(`annotate pod injected ${DRAIN}=100`);

/** What a thief of the token tries, and what it is told, with deploy/overlays/rollout too. */
// biome-ignore format: a line for each case
export const ROLLOUT_MISUSES: readonly (readonly [what: string, FencedCall, told: RegExp])[] = [
  ...told(POD, [
    ['changes the image of an application', patch('pod/injected', set('/spec/containers/0/image', 'mine'))],
    [
      'calls the application a sidecar',
      patch(
        'pod/injected',
        set(`/metadata/annotations/${STATUS.replace('/', '~1')}`, injectedStatus('old', ['app', 'envoy'])),
      ),
    ],
    ['changes the image of a pod that was not injected', patch('pod/plain', set('/spec/containers/0/image', 'mine'))],
    ['writes the status of a pod that has none', run(`annotate pod plain ${STATUS}=${injectedStatus('a', ['app'])}`)],
    ['takes the status away', run(`annotate pod injected ${STATUS}-`)],
    ['resizes an application', patch('pod/injected', set('/spec/containers/0/resources/requests/cpu', '2m'), RESIZE)],
  ]),
  ...told(REVISION, [['writes a revision of another controller', create(revision('web-a', inOurs))]]),
];

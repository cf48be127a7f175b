import { OVERRIDES } from '../../../src/injection/keys.ts';
import type { ReviewHandler } from '../../../src/kube/admission/response.ts';
import type { JsonObject, JsonValue } from '../../../src/util/json.ts';
import { podReview } from '../injection/admission-review.ts';
import { podWith, STATUS, templateSet } from '../injection/demo.ts';
import { attaching, call, injecting } from './calls.ts';
import { type GrowingInput, mapOf, times } from './growing-input.ts';
import { sizedFields } from './schema-fields.ts';
import { OPT_IN, RESTRICTED, RICH } from './settings.ts';

const NETWORK = 'samplecrd.k8s.io/network';
const MULTUS = 'k8s.v1.cni.cncf.io/networks';
const MULTUS_STATUS = 'k8s.v1.cni.cncf.io/network-status';
/** A template with something for each of the application's containers, and for each list of the pod. */

const poor = injecting();
const rich = injecting({ data: { config: RICH } });
const first = injecting({ data: { config: RICH, options: 'position: first\nonConflict: deny\n' } });
const restricted = injecting({ data: { config: RICH }, namespaceLabels: RESTRICTED });
const attach = attaching();

/** The pods that each of these webhooks is asked about. */
const asked = (spec: JsonObject, annotations: JsonObject = {}, metadata: JsonObject = {}): JsonObject =>
  podReview({ object: podWith(spec, { ...metadata, annotations: { [OPT_IN]: 'true', ...annotations } }) });
const container = (index: number, fields: JsonObject = {}): JsonObject => ({
  name: `app-${index}`,
  image: 'busybox',
  ...fields,
});
const containersOf = (n: number, fields: (index: number) => JsonObject = () => ({})) => ({
  containers: times(n, (index) => container(index, fields(index))),
});

/** A status of ours that a pod brings along: of the template as it is, and with n of this kind. */
const hash = templateSet({ config: RICH }).templates.get('config')?.hash ?? '';
const forged = (said: JsonObject) =>
  JSON.stringify({ version: 1, templates: [{ name: 'config', sha256: hash }], added: {}, ...said });

/** Bodies above 256 KiB are scanned before they are parsed: a step that no two sizes of one input may straddle. */
const BELOW_SCAN = 50;
const pods = (
  name: string,
  pod: (n: number) => JsonObject,
  handlers: Readonly<Record<string, ReviewHandler>> = { poor, rich, first, restricted },
  from?: number,
): readonly GrowingInput[] =>
  Object.entries(handlers).map(([kind, handler]) => ({
    name: `review (${kind}): ${name}`,
    ...(from !== undefined && { from }),
    work: (n) => call(handler, pod(n)),
  }));
const annotated = (name: string, text: (n: number) => string, key: string): readonly GrowingInput[] =>
  pods(name, (n) => asked(containersOf(n), { [key]: text(n) }), { rich });

/** Each list and map of the pod schema, as a pod has it. */
export const SCHEMA_REVIEWS: readonly GrowingInput[] = sizedFields().flatMap(({ name, spec }) => [
  ...pods(name, (n) => asked({ ...containersOf(1), ...spec(n) }), { restricted }),
]);

export const REVIEWS: readonly GrowingInput[] = [
  ...pods('containers', (n) => asked(containersOf(n))),
  ...pods('containers of one name', (n) => asked({ containers: times(n, () => container(0)) })),
  ...pods('containers without a name', (n) => asked({ containers: times(n, () => ({})) })),
  ...pods('containers named as the template names its own', (n) =>
    asked({ containers: times(n, () => ({ name: 'envoy', image: 'auto' })) }),
  ),
  ...pods('containers with what the template adds', (n) =>
    asked(containersOf(n, () => ({ env: [{ name: 'PROXY' }], volumeMounts: [{ name: 'envoy-conf' }] }))),
  ),
  ...pods('containers with another mount where the template has one', (n) =>
    asked(containersOf(n, () => ({ volumeMounts: [{ name: 'other', mountPath: '/etc/shared' }] }))),
  ),
  ...pods('containers with a mount each', (n) =>
    asked(containersOf(n, (i) => ({ volumeMounts: [{ name: `v-${i}`, mountPath: `/m/${i}` }] }))),
  ),
  ...pods('containers that listen on the port of the template', (n) =>
    asked(containersOf(n, () => ({ ports: [{ containerPort: 80 }] }))),
  ),
  ...pods('containers and init containers', (n) =>
    asked({ ...containersOf(n), initContainers: times(n, (i) => ({ name: `init-${i}`, image: 'busybox' })) }),
  ),
  ...pods('native sidecars', (n) =>
    asked({
      ...containersOf(1),
      restartPolicy: 'Never',
      initContainers: times(n, (i) => ({ name: `init-${i}`, image: 'busybox', restartPolicy: 'Always' })),
    }),
  ),
  ...pods(
    'native sidecars and init containers, each with a resource of its own',
    (n) =>
      asked({
        ...containersOf(1),
        resources: { requests: { cpu: '1' } },
        initContainers: times(2 * n, (i) => ({
          name: `init-${i}`,
          image: 'busybox',
          ...(i < n && { restartPolicy: 'Always' }),
          resources: { requests: { [`example.com/r-${i}`]: '1' } },
        })),
      }),
    undefined,
    BELOW_SCAN,
  ),
  ...pods('containers that each ask for too much', (n) =>
    asked({
      ...containersOf(n, () => ({ resources: { limits: { cpu: '9' } } })),
      resources: { limits: { cpu: '1' }, requests: { cpu: '1' } },
    }),
  ),
  ...pods('hooks that sleep for too long', (n) =>
    asked({
      ...containersOf(n, () => ({ lifecycle: { preStop: { sleep: { seconds: 99 } } } })),
      terminationGracePeriodSeconds: 5,
    }),
  ),
  ...pods('volumes of one name', (n) => asked({ volumes: times(n, () => ({ name: 'envoy-conf' })) })),
  ...pods('tolerations', (n) =>
    asked({ tolerations: times(n, (i) => ({ key: `k-${i}`, operator: 'Exists' })) }),
  ),
  ...pods('hosts that have the alias of the template', (n) =>
    asked({ hostAliases: [{ ip: '192.0.2.1', hostnames: times(n, (i) => `host-${i}`) }] }),
  ),
  ...pods('scheduling gates', (n) => asked({ schedulingGates: times(n, (i) => ({ name: `gate-${i}` })) })),
  ...pods('members of a node selector', (n) => asked({ nodeSelector: mapOf(n, () => 'x') })),
  ...pods('labels', (n) => asked({}, {}, { labels: mapOf(n, () => 'x') })),
  ...pods('annotations', (n) =>
    asked(
      {},
      mapOf(n, () => 'x'),
    ),
  ),
  ...pods('owners', (n) =>
    asked(
      {},
      {},
      { ownerReferences: times(n, (i) => ({ kind: 'ReplicaSet', name: `r-${i}`, uid: `${i}` })) },
    ),
  ),
  ...pods('letters of a name', (n) => asked(containersOf(1, () => ({ name: 'x'.repeat(50 * n) })))),
  ...pods('letters of a pod', (n) =>
    asked({}, {}, { name: 'x'.repeat(50 * n), generateName: 'y'.repeat(50 * n) }),
  ),
  // The first body above 128 KiB has a cost of its own, once.
  ...pods('letters that are escaped', (n) => asked({}, { note: '\u0001"\\'.repeat(50 * n) }), undefined, 50),
  ...pods('fields that are not known', (n) => asked(mapOf(n, () => ({})))),
  {
    name: 'review (restricted): labels of a namespace',
    work: (n) => call(injecting({ namespaceLabels: { ...mapOf(n, () => 'x'), ...RESTRICTED } }), asked({})),
  },
  ...pods('values beside a pod', (n) => ({ ...asked({}), more: times(n, (i) => ({ i })) })),
];

export const ANNOTATIONS: readonly GrowingInput[] = [
  ...OVERRIDES.flatMap((name) =>
    annotated(`letters in ${name}`, (n) => '1'.repeat(50 * n), `${OPT_IN}-${name}`),
  ),
  ...annotated('letters in the opt-in', (n) => 'x'.repeat(50 * n), OPT_IN),
  ...annotated('templates that do not exist', (n) => times(n, (i) => `t-${i}`).join(), `${OPT_IN}-templates`),
  ...annotated('one template many times', (n) => times(n, () => 'config').join(), `${OPT_IN}-templates`),
  ...annotated(
    'containers in a forged status',
    (n) => forged({ added: { containers: times(n, (i) => `app-${i}`) } }),
    STATUS,
  ),
  ...annotated(
    'init containers in a forged status that are not there',
    (n) => forged({ added: { initContainers: times(n, (i) => `other-${i}`) } }),
    STATUS,
  ),
  ...annotated(
    'containers of the pod in a forged status',
    (n) => forged({ overlaid: mapOf(n, () => ({}), 'app') }),
    STATUS,
  ),
  ...annotated(
    'moves in a forged status',
    (n) => forged({ moved: mapOf(n, (index) => ({ list: 'containers', index })) }),
    STATUS,
  ),
  ...annotated(
    'templates in a forged status',
    (n) => forged({ templates: times(n, (i) => ({ name: `t-${i}`, sha256: '' })) }),
    STATUS,
  ),
  ...annotated('brackets in a forged status', (n) => '['.repeat(50 * n), STATUS),
];

const named = (n: number, from = 0) => times(n, (i) => `network-${from + i}`).join();
const asJson = (n: number, from = 0) =>
  JSON.stringify(times(n, (i): JsonValue => ({ name: `network-${from + i}`, interface: `net${i}` })));
const attached = (
  name: string,
  networks: (n: number) => string,
  multus?: (n: number) => string,
  from?: number,
): GrowingInput => ({
  name: `attach: ${name}`,
  ...(from !== undefined && { from }),
  work: (n) =>
    call(attach, asked(containersOf(1), { [NETWORK]: networks(n), ...(multus && { [MULTUS]: multus(n) }) })),
});

/** A pod may have 32 Networks, and Multus be told of 100: a bound that no two sizes of one input may straddle. */
const ALLOWED = 8;
const BEYOND = 200;

export const ATTACHMENTS: readonly GrowingInput[] = [
  attached('networks', (n) => named(n), undefined, ALLOWED),
  attached('networks, more than a pod may have', (n) => named(n), undefined, BEYOND),
  attached('networks as JSON', (n) => asJson(n), undefined, ALLOWED),
  attached('one network many times', (n) => times(n, () => 'one').join()),
  attached(
    'networks beside others',
    (n) => named(n),
    (n) => named(n, n),
    ALLOWED,
  ),
  attached(
    'networks that are there already',
    (n) => named(n),
    (n) => named(n),
    ALLOWED,
  ),
  attached(
    'networks as JSON beside others',
    (n) => asJson(n),
    (n) => asJson(n, n),
    ALLOWED,
  ),
  attached(
    'networks as JSON beside names',
    (n) => asJson(n),
    (n) => named(n, n),
    ALLOWED,
  ),
  attached(
    'one network beside one many times',
    () => 'one',
    (n) => times(n, () => 'one').join(),
    25,
  ),
  attached(
    'others beside one network',
    () => 'one',
    (n) => named(n),
  ),
  attached('addresses', (n) =>
    JSON.stringify([{ name: 'one', ips: times(n, (i) => `10.0.${i >> 8}.${i & 255}/8`) }]),
  ),
  attached('addresses that are short', (n) => JSON.stringify([{ name: 'one', ips: times(n, () => '::') }])),
  attached('addresses that are none', (n) => JSON.stringify([{ name: 'one', ips: times(n, () => '1::x') }])),
  attached('addresses of each network', (n) =>
    JSON.stringify(times(n, (i) => ({ name: `n${i}`, ips: times(8, () => '10.0.0.7/8') }))),
  ),
  attached(
    'addresses told to Multus',
    () => 'one',
    (n) => JSON.stringify([{ name: 'two', ips: times(n, () => '10.0.0.7/8') }]),
  ),
  attached(
    'short names told to Multus',
    () => 'one',
    (n) => times(n, (i) => i.toString(36)).join(),
  ),
  attached(
    'objects told to Multus',
    () => 'one',
    (n) => asJson(n),
  ),
  attached(
    'one long name told to Multus',
    () => 'one',
    (n) => 'x'.repeat(50 * n),
  ),
  {
    name: 'attach: entries of the status of Multus',
    work: (n) => call(attach, asked(containersOf(1), { [NETWORK]: 'one', [MULTUS_STATUS]: asJson(n) })),
  },
  attached('options', (n) => JSON.stringify([{ name: 'one', ...mapOf(n, () => 1) }])),
  attached(
    'options in both',
    (n) => JSON.stringify([{ name: 'one', ...mapOf(n, () => 1) }]),
    (n) => JSON.stringify([{ name: 'one', ...mapOf(n, () => 1) }]),
  ),
  attached('brackets', (n) => '['.repeat(50 * n)),
  attached(
    'brackets in the annotation of Multus',
    () => 'one',
    (n) => '['.repeat(50 * n),
  ),
  attached('commas', (n) => ','.repeat(50 * n)),
  attached('blanks', (n) => ' '.repeat(50 * n)),
  {
    name: 'attach: scheduling gates',
    work: (n) =>
      call(attach, asked({ schedulingGates: times(n, (i) => ({ name: `g-${i}` })) }, { [NETWORK]: 'one' })),
  },
];

import { MAX_LENGTH } from '../util/annotation-json.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own, ownObjects } from '../util/json.ts';
import type { DecideInput, DecideOptions } from './decision-input.ts';
import { findCapture } from './envoy/capture.ts';
import { type EnvoyFiles, listeningPorts } from './envoy/listening-ports.ts';
import { resolveOptIn } from './opt-in.ts';
import { isPodCreation } from './podspec/admission-target.ts';
import { MIRROR_ANNOTATION, nameOf, SECCOMP_ANNOTATION } from './podspec/pod.ts';
import { ENFORCE_LABEL } from './podspec/pod-security/pod-security.ts';
import { AUTO_IMAGE } from './podspec/rules/container-rules.ts';
import { DEFAULT_GRACE_PERIOD, longestSleep } from './podspec/rules/grace-period.ts';
import { SYSTEM_NAMESPACES } from './rules/system-namespace.ts';
import type { Template } from './template/template.ts';
import { DEFAULT_TEMPLATE, type TemplateSet } from './template/template-set.ts';

/** The class of a pod; undefined: only `inject` knows what the pod gets. */
export type PodClassifier = (
  input: Pick<
    DecideInput,
    'request' | 'pod' | 'namespaceLabels' | 'namespaceTemplates' | 'envoyFiles' | 'limitRanges'
  >,
) => number | undefined;

/** Fields of a pod's spec that injection does not read. */
const UNREAD = [
  'activeDeadlineSeconds',
  'affinity',
  'automountServiceAccountToken',
  'dnsPolicy',
  'enableServiceLinks',
  'hostname',
  'nodeName',
  'overhead',
  'preemptionPolicy',
  'priority',
  'priorityClassName',
  'readinessGates',
  'runtimeClassName',
  'schedulerName',
  'schedulingGates',
  'serviceAccount',
  'serviceAccountName',
  'shareProcessNamespace',
  'subdomain',
  'tolerations',
  'topologySpreadConstraints',
];
/** Fields that injection reads, and that the class takes into account. */
const CLASSIFIED = [
  'containers',
  'initContainers',
  'restartPolicy',
  'terminationGracePeriodSeconds',
  'nodeSelector',
];
/** The lists of the spec to which templates add, with the key of their items. */
const LISTS = [
  ['volumes', 'name'],
  ['imagePullSecrets', 'name'],
  ['hostAliases', 'ip'],
] as const;
/** The maps of the spec to which templates add. */
const MAPS = ['securityContext', 'dnsConfig'] as const;
/** An absent policy is the first one, the API server's default. */
const RESTART_POLICIES: readonly JsonValue[] = ['Always', 'OnFailure', 'Never'];
/** Half of the limit of annotations, in characters of three bytes: for those of the pod, and for those of injection. */
const MOST_TEXT = MAX_LENGTH / 2 / 3;
/** More than the status annotation has beside the names of the template. */
const STATUS_TEXT = 1_000;

/**
 * Returns a function that sorts pods into a few hundred classes at most. All pods of a class get equal operations and
 * warnings from `inject`, so that one of them can stand for all. The function decides nothing.
 *
 * `inject` reads the following. Each either is in the class, or makes it undefined where it could matter:
 * - the request, and its namespace; the namespace's opt-in, selection of templates, enforced pod security, LimitRanges and
 *   configuration of Envoy;
 * - the pod's opt-in; its annotations for mirror pods and seccomp, and all with the opt-in's prefix; their total size;
 * - of each container its name, image and ports; of the spec the restart policy, grace period and node's system;
 * - the lists and maps to which the template adds: whether they exist, and whether they have an item of the template;
 * - all other fields of the spec, such as the host's network, own resources and the shapes that do not fit a template:
 *   only the fields in UNREAD are not read.
 *
 * There are no classes for templates that name the workload, capture, come first or add to the application's containers,
 * nor for other templates than the default one.
 */
export function podClassifier({ templates, options }: TemplateSet, decide: DecideOptions): PodClassifier {
  const template = templates.get(DEFAULT_TEMPLATE);
  if (!template || options.position === 'first' || !isSame(template)) return () => undefined;
  const { keys, operatorNamespace } = decide;
  const sidecars = [...template.containers, ...template.initContainers];
  const sleep = longestSleep(sidecars);
  const inTheWay = inTheWayOf(template, sidecars);
  const lists = LISTS.filter(([field]) => template[field].length > 0).map(
    ([field, key]) => [field, key, new Set(template[field].map((item) => own(item, key)))] as const,
  );
  const maps = MAPS.filter((field) => !isEmpty(template[field])).map(
    (field) => [field, new Set(Object.keys(template[field]))] as const,
  );
  const fields = new Set<string>([...UNREAD, ...CLASSIFIED, ...LISTS.map(([field]) => field), ...MAPS]);
  const labels = new Set(Object.keys(template.labels));
  const annotations = new Set([
    ...[MIRROR_ANNOTATION, SECCOMP_ANNOTATION],
    ...Object.keys(template.annotations),
  ]);

  const isOrdinary: (...input: Parameters<PodClassifier>) => boolean = ({
    request,
    pod,
    namespaceLabels,
    namespaceTemplates,
    limitRanges = [],
  }) =>
    isPodCreation(request) &&
    request.namespace !== operatorNamespace &&
    !SYSTEM_NAMESPACES.includes(request.namespace) &&
    namespaceTemplates === undefined &&
    limitRanges.length === 0 &&
    !Object.hasOwn(namespaceLabels, ENFORCE_LABEL) &&
    resolveOptIn(pod, namespaceLabels, decide).asked === 'inject';

  return (input) => {
    const [metadata, spec] = [own(input.pod, 'metadata'), own(input.pod, 'spec')];
    if (!isObject(metadata) || !isObject(spec) || !isOrdinary(input)) return undefined;
    const isInTheWay = inTheWay(input.envoyFiles);
    for (const field in spec) if (!fields.has(field)) return undefined;
    const grace = own(spec, 'terminationGracePeriodSeconds') ?? DEFAULT_GRACE_PERIOD;
    if (typeof grace !== 'number' || grace < sleep) return undefined;
    if (own(own(spec, 'nodeSelector'), 'kubernetes.io/os') === 'windows') return undefined;
    const containers = ownObjects(spec, 'containers');
    if (containers.length === 0 || containers.some(isInTheWay)) return undefined;
    let found = RESTART_POLICIES.indexOf(own(spec, 'restartPolicy') ?? 'Always');
    if (found < 0) return undefined;
    const add = (digit: number) => (found = found * 2 + digit);
    add(listDigit(own(spec, 'initContainers'), isInTheWay));
    for (const [field, key, taken] of lists)
      add(listDigit(own(spec, field), (item) => taken.has(own(item, key))));
    for (const [field, taken] of maps) add(mapDigit(own(spec, field), taken));
    if (labels.size > 0) add(mapDigit(own(metadata, 'labels'), labels));
    add(annotationsDigit(own(metadata, 'annotations'), annotations, `${keys.optIn}-`));
    return Number.isNaN(found) ? undefined : found;
  };
}

/** Whether the template adds the same to all pods that it fits. */
function isSame(template: Template): boolean {
  const { namesWorkload, env, volumeMounts, annotations, initContainers } = template;
  const isForPods =
    !namesWorkload && env.length === 0 && volumeMounts.length === 0 && !findCapture(initContainers);
  const isSmall = JSON.stringify(template).length + STATUS_TEXT <= MOST_TEXT / 2;
  return isForPods && isSmall && own(annotations, SECCOMP_ANNOTATION) === undefined;
}

function isEmpty(object: JsonObject): boolean {
  return Object.keys(object).length === 0;
}

/** Whether a container of a pod overrides one of these, or may conflict with it, by what Envoy reads. */
function inTheWayOf(
  { volumes }: Template,
  sidecars: readonly JsonObject[],
): (files: EnvoyFiles | undefined) => (container: JsonObject) => boolean {
  const known = new WeakMap<EnvoyFiles, ReturnType<typeof inTheWayWith>>();
  const unknown = inTheWayWith(sidecars, volumes, undefined);
  return (files) => {
    if (!files) return unknown;
    const found = known.get(files) ?? inTheWayWith(sidecars, volumes, files);
    known.set(files, found);
    return found;
  };
}

function inTheWayWith(
  sidecars: readonly JsonObject[],
  volumes: readonly JsonObject[],
  files: EnvoyFiles | undefined,
): (container: JsonObject) => boolean {
  const names = new Set(sidecars.map(nameOf));
  const ports = sidecars.flatMap((sidecar) => listeningPorts(sidecar, volumes, files));
  const numbers = new Set(ports.flatMap((port) => [own(port, 'containerPort'), own(port, 'hostPort')]));
  const portNames = new Set(ports.map((port) => own(port, 'name')));
  for (const taken of [numbers, portNames]) taken.delete(undefined);
  const collides = (port: JsonObject) =>
    numbers.has(own(port, 'containerPort')) ||
    numbers.has(own(port, 'hostPort')) ||
    portNames.has(own(port, 'name'));
  return (container) =>
    names.has(nameOf(container)) ||
    own(container, 'image') === AUTO_IMAGE ||
    ownObjects(container, 'ports').some(collides);
}

/** 0 for no list, 1 for one; NaN if one of its items matters, or it is no list. */
function listDigit(list: JsonValue | undefined, matters: (item: JsonObject) => boolean): number {
  if (list === undefined || list === null) return 0;
  return isArray(list) && list.every((item) => isObject(item) && !matters(item)) ? 1 : Number.NaN;
}

/** 0 for no map, 1 for one; NaN if it has one of the keys, or is no map. */
function mapDigit(map: JsonValue | undefined, keys: ReadonlySet<string>): number {
  if (map === undefined || map === null) return 0;
  if (!isObject(map)) return Number.NaN;
  for (const key in map) if (keys.has(key)) return Number.NaN;
  return 1;
}

/** As mapDigit; NaN also for annotations with the prefix, and if they could be too many with those of injection. */
function annotationsDigit(
  annotations: JsonValue | undefined,
  keys: ReadonlySet<string>,
  prefix: string,
): number {
  let length = 0;
  if (isObject(annotations)) {
    for (const key in annotations) {
      const value = own(annotations, key);
      if (typeof value !== 'string' || key.startsWith(prefix)) return Number.NaN;
      length += key.length + value.length;
    }
  }
  return length > MOST_TEXT ? Number.NaN : mapDigit(annotations, keys);
}

import { readsConfiguration } from '../../injection/envoy/configuration-age.ts';
import { type Injection, inject } from '../../injection/inject.ts';
import type { NamespaceSettings } from '../../injection/namespace-settings.ts';
import { podCreation } from '../../injection/podspec/admission-target.ts';
import {
  annotation,
  containerFinder,
  isNativeSidecar,
  type PlacedContainer,
  type Pod,
  specField,
} from '../../injection/podspec/pod.ts';
import { parseQuantity } from '../../injection/podspec/quantity.ts';
import type { DecideOptions } from '../../injection/rule.ts';
import { addedContainers, parseStatus, type Status } from '../../injection/status.ts';
import { KINDS, type Kind } from '../../injection/template/template.ts';
import type { TemplateSet } from '../../injection/template/template-set.ts';
import { uninject } from '../../injection/uninject.ts';
import { formatDiagnostic } from '../../util/diagnostic.ts';
import { isObject, type JsonObject, type JsonValue, own, ownString } from '../../util/json.ts';
import { isSameImage, respelled } from './image-spelling.ts';

/** A new value of a container of the sidecar. */
export interface ContainerChange<T> extends Pick<PlacedContainer, 'list' | 'index'> {
  readonly name: string;
  readonly from: T;
  readonly to: T;
}

/** How a running pod gets other templates in place. */
export interface InPlaceChange {
  readonly how: 'in-place';
  readonly images: readonly ContainerChange<string>[];
  /** The whole `resources` of the container. */
  readonly resources: readonly ContainerChange<JsonObject>[];
  /** Its status annotation afterwards, but for what is known only then. */
  readonly status: Status;
  /** Whether the sidecar restarts, and whether a native one does. */
  readonly restarts: boolean;
  readonly restartsNative: boolean;
}

/** How a pod gets other templates. `why` is a sentence without a full stop. */
export type PodChange =
  | { readonly how: 'none' }
  | InPlaceChange
  | { readonly how: 'replace'; readonly why: string }
  | { readonly how: 'refused'; readonly why: string };

/** The first kubelet that restarts a native sidecar whose image changes (kubernetes/kubernetes#126525). */
const NATIVE_SINCE = 32;
const RESIZABLE = ['cpu', 'memory'] as const;
const AMOUNTS = ['limits', 'requests'] as const;

/**
 * How a pod gets the templates of a set. In place, only images, cpu and memory of the sidecar change. Compares the pod with an injection of the same pod without its sidecar.
 * `from`: the templates that the pod has, if they are known: with them, what others changed in the pod is told apart.
 * `restart`: whether the sidecar must restart to read its configuration again.
 */
export function podChange(
  pod: Pod,
  namespace: NamespaceSettings,
  set: TemplateSet,
  options: DecideOptions,
  from?: TemplateSet,
  restart = false,
): PodChange {
  const before = parseStatus(annotation(pod, options.keys.status));
  if (!before) return { how: 'none' };
  const original = uninject(pod, options.keys);
  if (!original)
    return refused("its status annotation lists every container as the sidecar's: recreate the pod");
  const injected = injectAgain(original, pod, namespace, set, options);
  if (injected.outcome !== 'injected') {
    const { reason, diagnostics } = injected.skip;
    const why = [`a new pod would get no sidecar: ${reason}`, ...diagnostics.map(formatDiagnostic)];
    return refused(why.join(': '));
  }
  const { status: after } = injected;
  if (!restart && sameTemplates(before, after, 'sha256')) return { how: 'none' };
  const differs = sameTemplates(before, after, 'shape')
    ? differenceOf(before, after, pod, injected.pod)
    : 'the templates differ in more than images, cpu and memory';
  if (differs !== undefined) return { how: 'replace', why: differs };
  const old = from && injectAgain(original, pod, namespace, from, options);
  const known =
    old?.outcome === 'injected' && sameTemplates(before, old.status, 'sha256') ? old.pod : undefined;
  return changeOf(pod, injected, known, restart);
}

/** The change on a node whose kubelet has this version, such as `v1.36.3`; undefined if it is unknown. */
export function onKubelet(change: InPlaceChange, version: string | undefined): PodChange {
  const minor = /^v1\.(\d+)/.exec(version ?? '')?.[1];
  if (!change.restartsNative || minor === undefined || Number(minor) >= NATIVE_SINCE) return change;
  return replace(
    `its node has kubelet ${version}, which cannot restart native sidecars: upgrade it to v1.${NATIVE_SINCE} or newer`,
  );
}

function refused(why: string): PodChange {
  return { how: 'refused', why };
}

function injectAgain(
  original: Pod,
  pod: Pod,
  namespace: NamespaceSettings,
  set: TemplateSet,
  options: DecideOptions,
): Injection {
  const request = podCreation(ownString(own(pod, 'metadata'), 'namespace') ?? '');
  return inject({ request, pod: original, ...namespace, options, state: { set } });
}

function sameTemplates(a: Status, b: Status, key: 'sha256' | 'shape'): boolean {
  const [one, other] = [a.templates, b.templates].map((templates) =>
    templates.map((template) => template[key] && `${template.name}@${template[key]}`),
  );
  return one !== undefined && !one.includes(undefined) && one.join() === other?.join();
}

/** Why an injection of today differs in more than may change; undefined if it does not. */
function differenceOf(before: Status, after: Status, pod: Pod, wanted: Pod): string | undefined {
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const [one, other] = [before, after].map(({ added }) => [...(added[kind] ?? [])].sort().join(', '));
    if (one !== other) return `${kind} differ: ${one || 'none'} here, ${other || 'none'} in a new pod`;
  }
  for (const kind of ['labels', 'annotations'] as const) {
    const [live, now] = [pod, wanted].map((each) => own(own(each, 'metadata'), kind));
    const other = after.added[kind]?.find((name) => ownString(live, name) !== ownString(now, name));
    if (other !== undefined) return `${kind} differ: ${other}`;
  }
  // The fence knows the operator's containers by the status.
  const [overlaid] = Object.keys(after.overlaid);
  if (overlaid !== undefined) return `the pod itself overrides container ${overlaid}`;
  const [live, now] = [pod, wanted].map((each) => own(specField(each, 'resources'), 'requests'));
  const grown = new Set([...Object.keys(before.requests), ...Object.keys(after.requests)]);
  for (const name of grown) {
    if (parseQuantity(own(live, name)) !== parseQuantity(own(now, name)))
      return `the pod's own request for ${name} would change`;
  }
  return undefined;
}

/**
 * The change to the pod as it would be created now. `known`: the pod as it was created; undefined if its templates are not
 * known.
 */
function changeOf(
  pod: Pod,
  { pod: wanted, status: after }: { readonly pod: Pod; readonly status: Status },
  known: Pod | undefined,
  restart: boolean,
): PodChange {
  const images: ContainerChange<string>[] = [];
  const resources: ContainerChange<JsonObject>[] = [];
  const [find, findWanted] = [containerFinder(pod), containerFinder(wanted)];
  const findKnown = containerFinder(known ?? {});
  for (const name of addedContainers(after)) {
    const [live, goal] = [find(name), findWanted(name)];
    if (!live || !goal || live.list !== goal.list)
      return replace(`container ${name} is elsewhere in a new pod`);
    const once = findKnown(name)?.container;
    const image = imageOf(live.container);
    if (once && !isSameImage(imageOf(once), image))
      return replace(`container ${name} has the image ${image}, not that of its template`);
    const place = { list: live.list, index: live.index, name };
    const to = imageOf(goal.container);
    const runs = live.list === 'containers' || isNativeSidecar(live.container);
    if (!isSameImage(image, to)) images.push({ ...place, from: image, to });
    else if (restart && runs && readsConfiguration(live.container, pod)) {
      const other = respelled(image);
      if (other === undefined)
        return replace(`image ${image} has no digest, so the container cannot restart in place`);
      images.push({ ...place, from: image, to: other });
    }
    const resized = resizedOf(live.container, goal.container, once);
    if ('why' in resized) return replace(`container ${name} ${resized.why}`);
    if (resized.to) resources.push({ ...place, from: objectAt(live.container, 'resources'), to: resized.to });
  }
  const restartsNative = images.some(
    ({ list, name }) => list === 'initContainers' && isNativeSidecar(find(name)?.container ?? {}),
  );
  const restarts = restartsNative || images.some(({ list }) => list === 'containers');
  return { how: 'in-place', images, resources, status: after, restarts, restartsNative };
}

function replace(why: string): PodChange {
  return { how: 'replace', why };
}

function imageOf(container: JsonObject): string {
  return ownString(container, 'image') ?? '';
}

function objectAt(value: JsonObject, key: string): JsonObject {
  const found = own(value, key);
  return isObject(found) ? found : {};
}

/**
 * The resources of a container in place of its own; undefined if they stay. What the template never had, others have
 * added, such as a LimitRange. The API server removes no limit or request from a running pod.
 */
function resizedOf(
  live: JsonObject,
  goal: JsonObject,
  once: JsonObject | undefined,
): { readonly to: JsonObject | undefined } | { readonly why: string } {
  const now = objectAt(live, 'resources');
  const changed: Record<string, JsonObject> = {};
  for (const kind of AMOUNTS) {
    for (const resource of RESIZABLE) {
      const [is, to] = [amount(live, kind, resource), amount(goal, kind, resource)];
      if (to === undefined) {
        const isOurs = once === undefined || amount(once, kind, resource) !== undefined;
        if (is !== undefined && isOurs)
          return { why: `has ${resource} ${kind}, which cannot be removed in place` };
      } else if (parseQuantity(is) !== parseQuantity(to)) {
        changed[kind] = { ...objectAt(now, kind), ...changed[kind], [resource]: to };
      }
    }
  }
  return { to: Object.keys(changed).length === 0 ? undefined : { ...now, ...changed } };
}

/** A limit or request: by default, the request is the limit. */
function amount(container: JsonObject, kind: 'limits' | 'requests', resource: string): JsonValue | undefined {
  const resources = objectAt(container, 'resources');
  const given = own(own(resources, kind), resource);
  return given === undefined && kind === 'requests' ? own(own(resources, 'limits'), resource) : given;
}

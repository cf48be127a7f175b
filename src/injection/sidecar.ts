import { quoteText } from '../util/clip.ts';
import { finder } from '../util/finder.ts';
import { isObject, type JsonObject, own, ownString } from '../util/json.ts';
import { suggest } from '../util/suggest.ts';
import { proxyOf } from './envoy/capture.ts';
import { type Keys, knownAnnotations, OVERRIDES, type Override } from './keys.ts';
import {
  AUTO_IMAGE,
  type ContainerList,
  containers,
  isNativeSidecar,
  nameOf,
  type PlacedContainer,
  type Pod,
  specField,
} from './podspec/pod.ts';
import { parseQuantity } from './podspec/quantity.ts';
import { fitGracePeriod } from './podspec/rules/grace-period.ts';
import { amountsOf } from './podspec/rules/pod-resources.ts';
import { strategicMerge } from './podspec/strategic-merge.ts';
import { overridesIn, saidBy } from './template/container-override.ts';
import type { InjectionOptions } from './template/options.ts';
import type { Template } from './template/template.ts';

/** A container of a template, prepared for one pod. */
export interface Sidecar {
  readonly name: string;
  readonly container: JsonObject;
  /** Its list in the pod. */
  readonly list: ContainerList;
  /** The pod's own container that it replaces, if the pod overrides it. */
  readonly override: PlacedContainer | undefined;
}

type WantedSidecars =
  | {
      readonly sidecars: readonly Sidecar[];
      /** What is wrong with the annotations that were ignored. */
      readonly ignored: readonly string[];
    }
  /** What is wrong with the pod's own overrides. */
  | { readonly messages: readonly string[] };

/**
 * The containers of a template, prepared for one pod: native if an ordinary sidecar would keep the pod from finishing,
 * with hooks that fit its grace period, and with the overrides of the pod. Annotations change its proxy.
 */
export function sidecarsFor(
  pod: Pod,
  template: Template,
  options: InjectionOptions,
  overrides: Keys | undefined,
): WantedSidecars {
  const list = wantsNative(pod, options) && !isGateway(pod) ? 'initContainers' : 'containers';
  const overrideOf = finder(overridesIn(pod), ({ container }) => nameOf(container));
  const sidecar = (container: JsonObject, to: ContainerList) =>
    withOverride(overrideOf(nameOf(container)), fitGracePeriod(container, pod), to);
  const sidecars = [
    ...template.initContainers.map((container) => sidecar(container, 'initContainers')),
    ...template.containers.map((container) =>
      sidecar(list === 'containers' ? container : { ...container, restartPolicy: 'Always' }, list),
    ),
  ];
  const messages = sidecars
    .filter(({ override }) => override)
    .flatMap(({ container }) => faultsOf(container));
  if (messages.length > 0) return { messages };
  const index = sidecars.findIndex(({ name }) => name === nameOf(proxyOf(template)));
  const first = sidecars[index];
  if (!first || !overrides) return { sidecars, ignored: [] };
  const { container, ignored } = applyAnnotations(first.container, pod, overrides, template);
  return { sidecars: sidecars.with(index, { ...first, container }), ignored };
}

/** The API server refuses requests above the limit, which the template's may be with an override. */
function faultsOf(container: JsonObject): readonly string[] {
  const resources = own(container, 'resources');
  const [requests, limits] = ['requests', 'limits'].map((list) => own(resources, list));
  const most = amountsOf(limits);
  return [...amountsOf(requests)]
    .filter(([name, request]) => request > (most.get(name) ?? request))
    .map(
      ([name]) =>
        `container ${nameOf(container)}: resources.requests.${name}: ${own(requests, name)} exceeds the limit ${own(limits, name)}: lower it, or raise the limit`,
    );
}

function withOverride(
  override: PlacedContainer | undefined,
  container: JsonObject,
  list: ContainerList,
): Sidecar {
  const name = nameOf(container);
  if (!override) return { name, container, list, override };
  // An override that is a native sidecar stays one.
  const staysNative = override.list === 'initContainers' && isNativeSidecar(override.container);
  return {
    name,
    container: strategicMerge(container, saidBy(override), 'Container'),
    list: staysNative ? 'initContainers' : list,
    override,
  };
}

/** Pods that are meant to finish (Jobs, workflow steps, tasks) never do while an ordinary sidecar runs. */
function wantsNative(pod: Pod, { nativeSidecar }: InjectionOptions): boolean {
  if (nativeSidecar !== 'jobs') return nativeSidecar === 'always';
  return (specField(pod, 'restartPolicy') ?? 'Always') !== 'Always';
}

/** Whether all containers are overrides. Moved to the init containers, they would leave no container. */
function isGateway(pod: Pod): boolean {
  return containers(pod).every((container) => own(container, 'image') === AUTO_IMAGE);
}

/** How an annotation of a pod changes the sidecar that it gets. */
interface OverrideKind {
  readonly valid: (value: string) => boolean;
  /** What to write instead of an invalid value. */
  readonly hint: string;
  /** The fields that it sets. */
  readonly fields: (value: string) => JsonObject;
}

const KINDS: Readonly<Record<Override, OverrideKind>> = {
  image: {
    valid: (value) => /^[^\s]+$/.test(value) && value !== 'auto',
    hint: 'an image such as envoyproxy/envoy:v1.36.0',
    fields: (image) => ({ image }),
  },
  'cpu-request': quantity('requests', 'cpu', '100m'),
  'cpu-limit': quantity('limits', 'cpu', '500m'),
  'memory-request': quantity('requests', 'memory', '64Mi'),
  'memory-limit': quantity('limits', 'memory', '256Mi'),
};

function quantity(list: 'requests' | 'limits', resource: string, example: string): OverrideKind {
  return {
    valid: (value) => (parseQuantity(value) ?? -1n) >= 0n,
    hint: `a quantity such as ${example}`,
    fields: (value) => ({ resources: { [list]: { [resource]: value } } }),
  };
}

/** More unknown annotations are not named. */
const MAX_UNKNOWN = 5;

/** What is wrong with the annotations that look like overrides and are none, unless the template reads them. */
function unknownOverrides(annotations: JsonObject, template: unknown, keys: Keys): readonly string[] {
  const known = knownAnnotations(keys);
  const prefix = `${keys.optIn}-`;
  const unknown = Object.keys(annotations)
    .filter((key) => key.startsWith(prefix) && !known.includes(key))
    .slice(0, MAX_UNKNOWN);
  if (unknown.length === 0) return [];
  const text = JSON.stringify(template);
  const names = known.map((each) => each.slice(prefix.length));
  return unknown
    .filter((key) => !text.includes(key))
    .map((key) => {
      const name = suggest(key.slice(prefix.length), names);
      return `annotation ${key} is unknown: ${name === undefined ? 'remove it' : `did you mean ${prefix}${name}?`}`;
    });
}

/**
 * Applies the annotations of a pod that change its sidecar, and says what is wrong with those that it ignores: invalid and
 * unknown ones, and all if the API server would reject their combination.
 */
function applyAnnotations(container: JsonObject, pod: Pod, keys: Keys, template: Template) {
  const annotations = own(own(pod, 'metadata'), 'annotations');
  if (!isObject(annotations)) return { container, ignored: [] };
  const ignored = [...unknownOverrides(annotations, template, keys)];
  let changed = container;
  for (const name of OVERRIDES) {
    const key = keys.overrides[name];
    const value = ownString(annotations, key);
    if (value === undefined) continue;
    const { valid, hint, fields } = KINDS[name];
    if (valid(value)) changed = strategicMerge(changed, fields(value), 'Container');
    else ignored.push(`annotation ${key} is ${quoteText(value, 32)}: write ${hint}`);
  }
  const faults = changed === container ? [] : faultsOf(changed);
  return faults.length === 0
    ? { container: changed, ignored }
    : { container, ignored: [...ignored, ...faults] };
}

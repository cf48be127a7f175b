import { type JsonObject, own } from '../util/json.ts';
import type { Keys } from './keys.ts';
import { AUTO_IMAGE, containers, isNativeSidecar, nameOf, type Pod, specField } from './podspec/pod.ts';
import { fitGracePeriod } from './podspec/rules/grace-period.ts';
import { amountsOf } from './podspec/rules/pod-resources.ts';
import { strategicMerge } from './podspec/strategic-merge.ts';
import {
  type ContainerList,
  type ContainerOverride,
  overrideFinder,
  saidBy,
} from './template/container-override.ts';
import type { InjectionOptions } from './template/options.ts';
import { applyOverrides } from './template/overrides.ts';
import type { Template } from './template/template.ts';

/** A container of a template, prepared for one pod. */
export interface Sidecar {
  readonly name: string;
  readonly container: JsonObject;
  /** Its list in the pod. */
  readonly list: ContainerList;
  /** The pod's own container that it replaces, if the pod overrides it. */
  readonly override: ContainerOverride | undefined;
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
 * The containers of a template, prepared for one pod: native if an ordinary sidecar would keep the pod from
 * finishing, with hooks that fit its grace period, and with the overrides of the pod. Annotations change the first container that keeps running.
 */
export function sidecarsFor(
  pod: Pod,
  template: Template,
  options: InjectionOptions,
  overrides: Keys | undefined,
): WantedSidecars {
  const list = wantsNative(pod, options) && !isGateway(pod) ? 'initContainers' : 'containers';
  const overrideOf = overrideFinder(pod);
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
  const main = template.containers[0] ?? template.initContainers.find(isNativeSidecar);
  const index = sidecars.findIndex(({ name }) => name === nameOf(main));
  const first = sidecars[index];
  if (!first || !overrides) return { sidecars, ignored: [] };
  const { container, ignored } = overridden(first.container, pod, { keys: overrides, template });
  if (container === first.container) return { sidecars, ignored };
  return { sidecars: sidecars.with(index, { ...first, container }), ignored };
}

/** Ignores valid annotations too if the API server would reject their combination. */
function overridden(...given: Parameters<typeof applyOverrides>): ReturnType<typeof applyOverrides> {
  const [container] = given;
  const changed = applyOverrides(...given);
  const faults = changed.container === container ? [] : faultsOf(changed.container);
  return faults.length === 0 ? changed : { container, ignored: [...changed.ignored, ...faults] };
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
  override: ContainerOverride | undefined,
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

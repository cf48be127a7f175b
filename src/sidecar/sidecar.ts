import { type JsonObject, own } from '../json/json.ts';
import { formatPath } from '../json/path.ts';
import { containers, isNativeSidecar, nameOf, type Pod, specField } from '../podspec/pod.ts';
import { AUTO_IMAGE, containerFindings } from '../podspec/rules/container-rules.ts';
import { strategicMerge } from '../podspec/strategic-merge.ts';
import type { Keys } from './keys.ts';
import {
  type ContainerList,
  type ContainerOverride,
  overrideFinder,
  saidBy,
} from './template/container-override.ts';
import type { InjectionOptions } from './template/options.ts';
import { applyOverrides } from './template/overrides.ts';
import type { Template } from './template/template.ts';

/** A container of a template as one pod gets it. */
export interface Sidecar {
  readonly name: string;
  readonly container: JsonObject;
  /** The list of the pod that it belongs to. */
  readonly list: ContainerList;
  /** What it takes the place of, if the pod lays something over the template's. */
  readonly override: ContainerOverride | undefined;
}

type WantedSidecars =
  | {
      readonly sidecars: readonly Sidecar[];
      /** What is wrong with the annotations of the pod that were passed over. */
      readonly ignored: readonly string[];
    }
  /** What is wrong with what the pod lays over them. */
  | { readonly messages: readonly string[] };

/**
 * The containers of a template as one pod gets them: native where they must not keep a pod from ending, with
 * what the pod lays over them, and the first of them that stays with what its annotations say.
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
    withOverride(overrideOf(nameOf(container)), container, to);
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
  const { container, ignored } = overridden(first.container, pod, overrides);
  if (container === first.container) return { sidecars, ignored };
  return { sidecars: sidecars.with(index, { ...first, container }), ignored };
}

/** Annotations that are right each, and together make what the API server would refuse, are passed over as well. */
function overridden(container: JsonObject, pod: Pod, keys: Keys): ReturnType<typeof applyOverrides> {
  const changed = applyOverrides(container, pod, keys);
  const faults = changed.container === container ? [] : faultsOf(changed.container);
  return faults.length === 0 ? changed : { container, ignored: [...changed.ignored, ...faults] };
}

/** The template has been checked, but not what a pod makes of it. */
function faultsOf(container: JsonObject): readonly string[] {
  return Array.from(
    containerFindings(container, []),
    ({ path, message }) => `container ${nameOf(container)}: ${formatPath(path)}: ${message}`,
  );
}

function withOverride(
  override: ContainerOverride | undefined,
  container: JsonObject,
  list: ContainerList,
): Sidecar {
  const name = nameOf(container);
  if (!override) return { name, container, list, override };
  // Whoever writes his own as a native sidecar wants it to be one.
  const staysNative = override.list === 'initContainers' && isNativeSidecar(override.container);
  return {
    name,
    container: strategicMerge(container, saidBy(override), 'Container'),
    list: staysNative ? 'initContainers' : list,
    override,
  };
}

/** A pod that is to end never does while an ordinary sidecar runs: Jobs, workflow steps, bare tasks. */
function wantsNative(pod: Pod, { nativeSidecar }: InjectionOptions): boolean {
  if (nativeSidecar !== 'jobs') return nativeSidecar === 'always';
  return (specField(pod, 'restartPolicy') ?? 'Always') !== 'Always';
}

/** A pod of nothing but overrides is its sidecar: moved to the init containers, it would leave none behind. */
function isGateway(pod: Pod): boolean {
  return containers(pod).every((container) => own(container, 'image') === AUTO_IMAGE);
}

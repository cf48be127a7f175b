import { AUTO_IMAGE } from './container-rules.ts';
import { type JsonObject, own } from './json.ts';
import type { InjectionOptions } from './options.ts';
import { containers, initContainers, isNativeSidecar, nameOf, type Pod, specField } from './pod.ts';
import { strategicMerge } from './strategic-merge.ts';
import type { Template } from './template.ts';

export type ContainerList = 'containers' | 'initContainers';

/** The pod's own container of a template's container's name, with `image: auto`. */
export interface Stub {
  readonly list: ContainerList;
  readonly container: JsonObject;
}

/** A container of a template as one pod gets it. */
export interface Sidecar {
  readonly name: string;
  readonly container: JsonObject;
  /** The list of the pod that it belongs to. */
  readonly list: ContainerList;
  /** What it takes the place of, if the pod lays something over the template's. */
  readonly stub: Stub | undefined;
}

/**
 * The containers of a template as one pod gets them: with what the pod lays over them, and native where
 * they must not keep a pod from ending.
 */
export function sidecarsFor(pod: Pod, template: Template, options: InjectionOptions): readonly Sidecar[] {
  const native = wantsNative(pod, options) && !isGateway(pod);
  return [
    ...template.initContainers.map((container) => sidecar(pod, container, 'initContainers')),
    ...template.containers.map((container) =>
      native
        ? sidecar(pod, { ...container, restartPolicy: 'Always' }, 'initContainers')
        : sidecar(pod, container, 'containers'),
    ),
  ];
}

function sidecar(pod: Pod, container: JsonObject, list: ContainerList): Sidecar {
  const name = nameOf(container);
  const stub = findStub(pod, name);
  if (!stub) return { name, container, list, stub };
  const { image: _, ...over } = stub.container;
  // Whoever writes his own as a native sidecar wants it to be one.
  const staysNative = stub.list === 'initContainers' && isNativeSidecar(stub.container);
  return {
    name,
    container: strategicMerge(container, over, 'Container'),
    list: staysNative ? 'initContainers' : list,
    stub,
  };
}

function findStub(pod: Pod, name: string): Stub | undefined {
  for (const [list, all] of [
    ['containers', containers(pod)],
    ['initContainers', initContainers(pod)],
  ] as const) {
    const container = all.find((item) => nameOf(item) === name && own(item, 'image') === AUTO_IMAGE);
    if (container) return { list, container };
  }
  return undefined;
}

/** A pod that is to end never does while an ordinary sidecar runs: Jobs, workflow steps, bare tasks. */
function wantsNative(pod: Pod, { nativeSidecar }: InjectionOptions): boolean {
  if (nativeSidecar !== 'jobs') return nativeSidecar === 'always';
  return (specField(pod, 'restartPolicy') ?? 'Always') !== 'Always';
}

/** A pod of nothing but stubs is its sidecar: moved to the init containers, it would leave none behind. */
function isGateway(pod: Pod): boolean {
  return containers(pod).every((container) => own(container, 'image') === AUTO_IMAGE);
}

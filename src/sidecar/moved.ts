import { isObject, type JsonObject, type JsonValue, own } from '../json/json.ts';
import { containers, initContainers, nameOf, type Pod } from '../podspec/pod.ts';
import type { ContainerList } from './template/container-override.ts';

/** Where a container of the pod's own was that is now in the other list. */
export interface Origin {
  readonly list: ContainerList;
  readonly index: number;
}

export type Moved = Readonly<Record<string, Origin>>;

/** Of the containers of these names, those that injection has taken from one list to the other. */
export function findMoved(before: Pod, after: Pod, names: readonly string[]): Moved {
  const moved = names.flatMap((name) => {
    const origin = originOf(before, name);
    return origin && origin.list !== originOf(after, name)?.list ? [[name, origin] as const] : [];
  });
  return Object.fromEntries(moved);
}

/** What a status annotation, which anyone may have written, says about moved containers. */
export function parseMoved(value: JsonValue | undefined): Moved {
  const entries = Object.entries(isObject(value) ? value : {}).flatMap(([name, origin]) => {
    const parsed = isObject(origin) ? parseOrigin(origin) : undefined;
    return parsed ? [[name, parsed] as const] : [];
  });
  return Object.fromEntries(entries);
}

function parseOrigin(origin: JsonObject): Origin | undefined {
  const [list, index] = [own(origin, 'list'), own(origin, 'index')];
  if (list !== 'containers' && list !== 'initContainers') return undefined;
  return typeof index === 'number' && Number.isSafeInteger(index) && index >= 0 ? { list, index } : undefined;
}

function originOf(pod: Pod, name: string): Origin | undefined {
  for (const [list, all] of [
    ['containers', containers(pod)],
    ['initContainers', initContainers(pod)],
  ] as const) {
    const index = all.findIndex((container) => nameOf(container) === name);
    if (index !== -1) return { list, index };
  }
  return undefined;
}

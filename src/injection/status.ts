import {
  isObject,
  type JsonObject,
  type JsonValue,
  own,
  ownList,
  ownObject,
  ownObjects,
  ownString,
  stringsIn,
} from '../util/json.ts';
import { parseAnnotation } from '../util/text-bounds.ts';
import { AUTO_IMAGE, containerFinder, nameOf, type PlacedContainer, type Pod } from './podspec/pod.ts';
import type { Kind, Template } from './template/template.ts';

/**
 * The names of all additions, which `uninject` removes; those to the application's containers as `CONTAINER/NAME` or
 * `CONTAINER/PATH`.
 */
type Added = Readonly<Partial<Record<Kind, readonly string[]>>>;

/** A template that a pod was injected with, and its state. */
export interface AppliedTemplate {
  readonly name: string;
  readonly sha256: string;
  /** The shape of the template; absent in pods of earlier versions. */
  readonly shape?: string;
}

/** The content of the status annotation of an injected pod. */
export interface Status {
  readonly templates: readonly AppliedTemplate[];
  readonly added: Added;
  /** The pod's own containers before they were merged with the template's, by name. */
  readonly overlaid: JsonObject;
  /** The original place of those that moved between containers and init containers. */
  readonly moved: Moved;
  /** The pod's own requests (`spec.resources`) that grew, with their values before; null if there was none. */
  readonly requests: JsonObject;
  /** sha256 in hex of the configurations that the sidecars read at their start, by ConfigMap, if they are known. */
  readonly configs?: Readonly<Record<string, string>>;
  /** When the sidecar was changed in the running pod, in RFC 3339; absent if it never was. */
  readonly at?: string;
  /** Whether the pod was Ready before that change: only such pods show whether the change was good. */
  readonly wasReady?: boolean;
  /** The restarts of the sidecar's containers before that change: more of them show that it has happened. */
  readonly restarts?: number;
}

/** The version of the annotation's format, not of this program: pods outlive upgrades. */
const VERSION = 1;

/** Records the changes to a pod during injection. */
export class StatusBuilder {
  readonly #added: Partial<Record<Kind, string[]>> = {};
  readonly #overlaid: Record<string, JsonObject> = {};
  readonly #requests: Record<string, JsonValue> = {};

  /** Records the name of an addition. */
  added(kind: Kind, name: string): void {
    this.#added[kind] ??= [];
    this.#added[kind].push(name);
  }

  /** Records a container of the pod as it was before its merge with the template's. */
  overlaid(name: string, container: JsonObject): void {
    this.#overlaid[name] = container;
  }

  /** Records a request of the pod itself as it was before it grew. */
  grown(resource: string, request: JsonValue | undefined): void {
    this.#requests[resource] = request ?? null;
  }

  /** Whether a container comes from a template. */
  hasContainer(name: string): boolean {
    return addedContainers({ added: this.#added }).includes(name) || Object.hasOwn(this.#overlaid, name);
  }

  build(templates: readonly Template[], before: Pod, after: Pod): Status {
    return {
      templates: templates.map(appliedTemplate),
      added: this.#added,
      overlaid: this.#overlaid,
      moved: findMoved(before, after, Object.keys(this.#overlaid)),
      requests: this.#requests,
    };
  }
}

/** A template as the status names it. */
export function appliedTemplate({ name, hash, shape }: Template): AppliedTemplate {
  return { name, sha256: hash, shape };
}

/** The text of the status annotation. Omits empty parts. */
export function formatStatus(status: Status): string {
  return JSON.stringify({
    version: VERSION,
    ...status,
    overlaid: unlessEmpty(status.overlaid),
    moved: unlessEmpty(status.moved),
    requests: unlessEmpty(status.requests),
    configs: unlessEmpty(status.configs ?? {}),
  });
}

function unlessEmpty<T extends object>(object: T): T | undefined {
  return Object.keys(object).length > 0 ? object : undefined;
}

/** Parses a status annotation, which is not trusted; undefined if it is missing or not ours. */
export function parseStatus(text: string | undefined): Status | undefined {
  const status = text === undefined ? undefined : parseAnnotation(text);
  if (own(status, 'version') !== VERSION) return undefined;
  const templates = ownObjects(status, 'templates').map((template) => {
    const shape = ownString(template, 'shape');
    const [name = '', sha256 = ''] = [ownString(template, 'name'), ownString(template, 'sha256')];
    return { name, sha256, ...(shape !== undefined && { shape }) };
  });
  const [configs, at] = [own(status, 'configs'), ownString(status, 'at')];
  const [wasReady, restarts] = [own(status, 'wasReady'), own(status, 'restarts')];
  return {
    templates,
    added: namesOf(ownObject(status, 'added')),
    overlaid: ownObject(status, 'overlaid'),
    moved: parseMoved(ownObject(status, 'moved')),
    requests: ownObject(status, 'requests'),
    ...(isObject(configs) && { configs: stringsIn(configs) }),
    ...(at !== undefined && !Number.isNaN(Date.parse(at)) && { at }),
    ...(typeof wasReady === 'boolean' && { wasReady }),
    ...(typeof restarts === 'number' && { restarts }),
  };
}

/** The names of the containers and init containers that injection added. */
export function addedContainers({ added }: Pick<Status, 'added'>): readonly string[] {
  return [...(added.containers ?? []), ...(added.initContainers ?? [])];
}

/** Whether a status says that its pod has the current state of these templates, which are those that it selects. */
export function isCurrent(status: Pick<Status, 'templates'>, templates: readonly Template[]): boolean {
  const text = (all: readonly AppliedTemplate[]) => all.map(({ name, sha256 }) => `${name}@${sha256}`).join();
  return text(status.templates) === text(templates.map(appliedTemplate));
}

/** Whether the pod has containers with the names of all those of the templates. Its status alone may be a copy, or a lie. */
export function hasContainers(pod: Pod, templates: readonly Template[]): boolean {
  const find = containerFinder(pod);
  const isThere = (container: JsonObject) => {
    const found = find(nameOf(container))?.container;
    return found !== undefined && own(found, 'image') !== AUTO_IMAGE;
  };
  return templates.every((each) => each.containers.every(isThere) && each.initContainers.every(isThere));
}

function namesOf(added: JsonObject): Added {
  return Object.fromEntries(
    Object.keys(added).map((kind) => [kind, ownList(added, kind).filter((name) => typeof name === 'string')]),
  );
}

/** The original place of a container that moved to the other list. */
export type Origin = Pick<PlacedContainer, 'list' | 'index'>;

type Moved = Readonly<Record<string, Origin>>;

/** The containers with these names that injection moved from one list to the other. */
function findMoved(before: Pod, after: Pod, names: readonly string[]): Moved {
  const [origin, place] = [containerFinder(before), containerFinder(after)];
  const moved = names.flatMap((name) => {
    const from = origin(name);
    if (!from || from.list === place(name)?.list) return [];
    return [[name, { list: from.list, index: from.index }] as const];
  });
  return Object.fromEntries(moved);
}

/** Parses the moved containers of a status annotation, which is not trusted. */
function parseMoved(value: JsonObject): Moved {
  const entries = Object.entries(value).flatMap(([name, origin]) => {
    const [list, index] = [own(origin, 'list'), own(origin, 'index')];
    if (list !== 'containers' && list !== 'initContainers') return [];
    if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0) return [];
    return [[name, { list, index }] as const];
  });
  return Object.fromEntries(entries);
}

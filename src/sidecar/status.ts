import { MAX_LENGTH, parseAnnotation } from '../json/annotation-json.ts';
import {
  isArray,
  isObject,
  type JsonObject,
  type JsonValue,
  own,
  ownObjects,
  ownString,
} from '../json/json.ts';
import { containerFinder, containers, initContainers, nameOf, type Pod } from '../podspec/pod.ts';
import type { ContainerList } from './template/container-override.ts';
import type { Template } from './template/template.ts';

/** The lists and maps of a pod to which injection adds, with what tells their items apart. */
export type AddedKind =
  | 'containers'
  | 'initContainers'
  | 'volumes'
  | 'imagePullSecrets'
  | 'hostAliases'
  | 'securityContext'
  | 'dnsConfig'
  | 'labels'
  | 'annotations'
  /** `CONTAINER/NAME`, and `CONTAINER/` with the path: what the application's containers were given. */
  | 'env'
  | 'volumeMounts';

/** The names of what was added: what `uninject` takes away again. */
type Added = Readonly<Partial<Record<AddedKind, readonly string[]>>>;

/** Which template, and in which state, a pod was injected with. */
interface AppliedTemplate {
  readonly name: string;
  readonly sha256: string;
}

/** What the status annotation of an injected pod says. */
export interface Status {
  readonly templates: readonly AppliedTemplate[];
  readonly added: Added;
  /** The pod's own containers over which the template's were laid, by name, as they were. */
  readonly overlaid: JsonObject;
  /** Where those of them were that are now in the other list: init containers, or no longer. */
  readonly moved: Moved;
}

/** The version of the annotation's form, not of this program: its pods outlive its upgrades. */
const VERSION = 1;

/** Takes down what is done to a pod while it is injected. */
export class StatusBuilder {
  readonly #added: Partial<Record<AddedKind, string[]>> = {};
  readonly #overlaid: Record<string, JsonObject> = {};
  readonly #containers = new Set<string>();
  #length = 0;

  /** Takes down the name of something that was added. */
  added(kind: AddedKind, name: string): void {
    if (kind === 'containers') this.#containers.add(name);
    this.#length += name.length;
    const names = this.#added[kind];
    if (names) names.push(name);
    else this.#added[kind] = [name];
  }

  /** Takes down a container of the pod's own, as it was before it was laid over the template's. */
  overlaid(name: string, container: JsonObject): void {
    this.#overlaid[name] = container;
  }

  /** Whether the names of what was added are more than an annotation takes. */
  get isTooLong(): boolean {
    return this.#length > MAX_LENGTH;
  }

  /** Whether a container comes from a template. */
  hasContainer(name: string): boolean {
    return this.#containers.has(name) || Object.hasOwn(this.#overlaid, name);
  }

  build(templates: readonly Template[], before: Pod, after: Pod): Status {
    return {
      templates: templates.map(({ name, hash }) => ({ name, sha256: hash })),
      added: this.#added,
      overlaid: this.#overlaid,
      moved: findMoved(before, after, Object.keys(this.#overlaid)),
    };
  }
}

/** The text of the status annotation. What there is nothing to say about is left out. */
export function formatStatus({ templates, added, overlaid, moved }: Status): string {
  const said = {
    version: VERSION,
    templates,
    added,
    overlaid: unlessEmpty(overlaid),
    moved: unlessEmpty(moved),
  };
  return JSON.stringify(said);
}

function unlessEmpty<T extends object>(object: T): T | undefined {
  return Object.keys(object).length > 0 ? object : undefined;
}

/** Reads a status annotation, which anyone may have written; undefined when there is none of ours. */
export function parseStatus(text: string | undefined): Status | undefined {
  const status = text === undefined ? undefined : parseAnnotation(text);
  if (own(status, 'version') !== VERSION) return undefined;
  const templates = ownObjects(status, 'templates').map((template) => ({
    name: ownString(template, 'name') ?? '',
    sha256: ownString(template, 'sha256') ?? '',
  }));
  const added = own(status, 'added');
  const overlaid = own(status, 'overlaid');
  return {
    templates,
    added: isObject(added) ? namesOf(added) : {},
    overlaid: isObject(overlaid) ? overlaid : {},
    moved: parseMoved(own(status, 'moved')),
  };
}

/**
 * Whether a pod has been injected with exactly these templates: its status says so, and the containers
 * that it names are there. A status that was merely copied along is not believed.
 */
export function isInjected(
  pod: Pod,
  statusText: string | undefined,
  templates: readonly Template[],
): boolean {
  const status = parseStatus(statusText);
  if (!status || status.templates.length !== templates.length) return false;
  const same = templates.every(({ name, hash }, i) => {
    const applied = status.templates[i];
    return applied?.name === name && applied.sha256 === hash;
  });
  const { containers = [], initContainers = [] } = status.added;
  const names = [...containers, ...initContainers, ...Object.keys(status.overlaid)];
  return same && names.every(containerFinder(pod));
}

function namesOf(added: JsonObject): Added {
  return Object.fromEntries(
    Object.entries(added).map(([kind, names]) => [
      kind,
      isArray(names) ? names.filter((name) => typeof name === 'string') : [],
    ]),
  );
}

/** Where a container of the pod's own was that is now in the other list. */
export interface Origin {
  readonly list: ContainerList;
  readonly index: number;
}

type Moved = Readonly<Record<string, Origin>>;

/** Of the containers of these names, those that injection has taken from one list to the other. */
function findMoved(before: Pod, after: Pod, names: readonly string[]): Moved {
  const moved = names.flatMap((name) => {
    const origin = originOf(before, name);
    return origin && origin.list !== originOf(after, name)?.list ? [[name, origin] as const] : [];
  });
  return Object.fromEntries(moved);
}

/** What a status annotation, which anyone may have written, says about moved containers. */
function parseMoved(value: JsonValue | undefined): Moved {
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

import { finder } from '../util/finder.ts';
import { isArray, isObject, type JsonObject, own, ownObject, ownObjects, ownString } from '../util/json.ts';
import type { PodPatchBuilder } from '../util/patch.ts';
import { findConflicts } from './conflict.ts';
import type { EnvoyFiles } from './envoy/files.ts';
import type { Keys } from './keys.ts';
import { placeOf } from './podspec/mount-path.ts';
import { annotation, nameOf, placedContainers, SECCOMP_ANNOTATION } from './podspec/pod.ts';
import { diagnose, type PodDiagnostic } from './rules/index.ts';
import { type Sidecar, sidecarsFor } from './sidecar.ts';
import type { StatusBuilder } from './status.ts';
import type { InjectionOptions } from './template/options.ts';
import {
  APP_KINDS,
  ITEM_KINDS,
  isOfMetadata,
  KINDS,
  type Kind,
  MAP_KINDS,
  type Template,
} from './template/template.ts';

export interface MergeContext {
  readonly options: InjectionOptions;
  /** Records what is added, and knows what earlier templates added. */
  readonly status: StatusBuilder;
  /** The keys of the annotations that change the template's first container; undefined if they do not apply to it. */
  readonly overrides: Keys | undefined;
  /** What Envoy reads, if it is known. */
  readonly envoyFiles?: EnvoyFiles | undefined;
}

/** The result. Nothing was added if it is refused. */
type Merged =
  | { readonly refused: readonly PodDiagnostic[] }
  /** What is wrong with the annotations that were ignored. */
  | { readonly ignored: readonly string[] };

/**
 * Adds a whole template to a pod, or nothing. If the pod and the template set the same scalar, the value of the pod
 * stays.
 */
export function mergeTemplate(patch: PodPatchBuilder, template: Template, context: MergeContext): Merged {
  const wanted = sidecarsFor(patch.pod, template, context.options, context.overrides);
  if ('messages' in wanted) return { refused: diagnose('invalid-override', wanted.messages) };
  const { sidecars, ignored } = wanted;
  if (ignored.length > 0 && context.options.onConflict === 'deny')
    return { refused: diagnose('invalid-override', ignored) };
  const names = new Set(sidecars.map(({ name }) => name));
  const isApp = (container: JsonObject) =>
    !names.has(nameOf(container)) && !context.status.hasContainer(nameOf(container));
  const { pod } = patch;
  const all = placedContainers(pod);
  const { envoyFiles, options } = context;
  const { position } = options;
  const conflicts = findConflicts({ pod, all, template, sidecars, isApp, position, envoyFiles });
  if (conflicts.length > 0) return { refused: conflicts };
  addSidecars(patch, sidecars, context);
  if (APP_KINDS.some((kind) => template[kind].length > 0)) addToApps(patch, isApp, template, context);
  addToSpec(patch, template, context);
  for (const kind of MAP_KINDS) addFields(patch, kind, template[kind], context.status);
  return { ignored };
}

function addSidecars(
  patch: PodPatchBuilder,
  sidecars: readonly Sidecar[],
  { options, status }: MergeContext,
): void {
  const placed = { containers: 0, initContainers: 0 };
  for (const { name, container, list, override } of sidecars) {
    if (override) status.overlaid(name, override.container);
    else status.added(list, name);
    if (override?.list === list) {
      patch.replace(['spec', list, indexOf(patch, list, name)], container);
      continue;
    }
    if (override) patch.remove(['spec', override.list, indexOf(patch, override.list, name)]);
    patch.insert(['spec', list], container, options.position === 'first' ? placed[list] : 'end');
    placed[list] += 1;
  }
}

function indexOf(patch: PodPatchBuilder, list: string, name: string): number {
  const all = own(own(patch.pod, 'spec'), list) as readonly JsonObject[];
  return all.findIndex((container) => nameOf(container) === name);
}

/** If containers share a name, which the API server rejects, the first one changes. */
function addToApps(
  patch: PodPatchBuilder,
  isApp: (container: JsonObject) => boolean,
  template: Template,
  { status }: MergeContext,
): void {
  const all = own(own(patch.pod, 'spec'), 'containers') as readonly JsonObject[];
  const done = new Set<string>();
  for (const [index, container] of all.entries()) {
    const [path, name] = [['spec', 'containers', index], nameOf(container)];
    if (!isObject(container) || !isApp(container) || done.has(name)) continue;
    done.add(name);
    for (const kind of APP_KINDS) {
      const keyOf = (item: JsonObject) => ownString(item, KINDS[kind].key) ?? '';
      const identity = (item: JsonObject) => (kind === 'volumeMounts' ? placeOf(keyOf(item)) : keyOf(item));
      const find = finder(ownObjects(container, kind), identity);
      for (const item of template[kind]) {
        if (find(identity(item))) continue;
        patch.insert([...path, kind], item);
        status.added(kind, `${name}/${keyOf(item)}`);
      }
    }
  }
}

/** Adds the items that the pod does not have. Conflicts were ruled out before. */
function addToSpec(patch: PodPatchBuilder, template: Template, { status }: MergeContext): void {
  for (const list of ITEM_KINDS) {
    const keyOf = (item: JsonObject) => ownString(item, KINDS[list].key) ?? '';
    const find = finder(ownObjects(own(patch.pod, 'spec'), list), keyOf);
    for (const item of template[list]) {
      if (find(keyOf(item))) continue;
      patch.insert(['spec', list], item);
      status.added(list, keyOf(item));
    }
  }
}

function addFields(patch: PodPatchBuilder, kind: Kind, fields: JsonObject, status: StatusBuilder): void {
  const part = isOfMetadata(kind) ? 'metadata' : 'spec';
  const annotations = Object.keys(ownObject(own(patch.pod, 'metadata'), 'annotations'));
  const isScraped = kind === 'annotations' && annotations.some((key) => key.startsWith(SCRAPING));
  for (const [key, value] of Object.entries(fields)) {
    if (isScraped && key.startsWith(SCRAPING)) continue;
    const current = own(own(own(patch.pod, part), kind), key) ?? [];
    // Kubernetes treats an empty list as absent.
    if (!isArray(current) || current.length > 0 || saysSeccomp(patch.pod, kind, key)) continue;
    patch.set([part, kind], key, value);
    status.added(kind, key);
  }
}

/** Say together how Prometheus reads a pod: of a pod that has one of them, a further one would change what the others say. */
export const SCRAPING = 'prometheus.io/';

/** The API server refuses a pod whose annotation of old and field for seccomp differ. The pod says one: it keeps it alone. */
function saysSeccomp(pod: JsonObject, kind: Kind, key: string): boolean {
  if (kind === 'securityContext')
    return key === 'seccompProfile' && annotation(pod, SECCOMP_ANNOTATION) !== undefined;
  const profile = own(own(own(pod, 'spec'), 'securityContext'), 'seccompProfile') ?? null;
  return kind === 'annotations' && key === SECCOMP_ANNOTATION && profile !== null;
}

import type { EnvoyFiles } from './envoy/files.ts';
import type { Keys } from './keys.ts';
import type { LimitRange } from './podspec/rules/limit-ranges.ts';

type Strings = Readonly<Record<string, string>>;

/** What the decision about a pod reads of its namespace. */
export interface NamespaceSettings {
  readonly namespaceLabels: Strings;
  /** The annotation that selects templates for pods that select none; absent if the namespace has none. */
  readonly namespaceTemplates?: string | undefined;
  /** The minor version of the API server, which has the rules of pod security; undefined: of the newest. */
  readonly serverMinor?: number | undefined;
  /** What its sidecars read, or would; undefined if that is not known. */
  readonly envoyFiles?: EnvoyFiles | undefined;
  readonly limitRanges?: readonly LimitRange[] | undefined;
}

/** The settings in the metadata of a Namespace, in a cluster of this minor version. */
export function namespaceSettings(
  { labels = {}, annotations = {} }: { readonly labels?: Strings; readonly annotations?: Strings },
  { templates: key }: Keys,
  serverMinor?: number,
): NamespaceSettings {
  const namespaceTemplates = Object.hasOwn(annotations, key) ? annotations[key] : undefined;
  return { namespaceLabels: labels, namespaceTemplates, serverMinor };
}

import type { Keys } from './keys.ts';

/** What the decision about a pod reads of its namespace. */
export interface NamespaceSettings {
  readonly namespaceLabels: Readonly<Record<string, string>>;
  /** The annotation that selects templates for pods that select none; absent if the namespace has none. */
  readonly namespaceTemplates?: string | undefined;
}

/** The settings in the metadata of a Namespace. */
export function namespaceSettings(
  { labels = {}, annotations = {} }: NamespaceMetadata,
  { templates: key }: Keys,
): NamespaceSettings {
  const namespaceTemplates = Object.hasOwn(annotations, key) ? annotations[key] : undefined;
  return { namespaceLabels: labels, namespaceTemplates };
}

interface NamespaceMetadata {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

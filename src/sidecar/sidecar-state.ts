import { annotation, type Pod } from '../podspec/pod.ts';
import type { Keys } from './keys.ts';
import type { NamespaceSettings } from './namespace-settings.ts';
import { isInjected, parseStatus } from './status.ts';
import { selectTemplates, type TemplateState } from './template/template-set.ts';

/**
 * The sidecar of an existing pod: from the current template (`current`), from another state of it (`stale`), or none.
 */
export type SidecarState = 'current' | 'stale' | 'absent';

export function sidecarState(
  pod: Pod,
  namespace: NamespaceSettings,
  keys: Keys,
  state: TemplateState,
): SidecarState {
  const text = annotation(pod, keys.status);
  if (!parseStatus(text)) return 'absent';
  const { templates, unknownTemplates } = selectTemplates(pod, namespace, keys, state);
  return unknownTemplates.length === 0 && isInjected(pod, text, templates) ? 'current' : 'stale';
}

import { readManifests, writeManifests } from '../../util/yaml-edit/manifests.ts';
import type { Keys } from '../keys.ts';
import { annotation } from '../podspec/pod.ts';
import {
  type PodSite,
  type PodTemplateRule,
  podSites,
  type Replacement,
  replaceAt,
} from '../podspec/workload.ts';
import { uninject } from '../uninject.ts';

/** One pod or pod template. `restored`: its sidecar was removed. `unreadable`: its status annotation is not valid. */
export interface UninjectResult {
  readonly site: PodSite;
  readonly outcome: 'restored' | 'untouched' | 'unreadable';
}

/**
 * Removes the sidecars from the pods and pod templates of a text of manifests.
 * @throws ManifestError, or PatchError if a status annotation does not fit its pod.
 */
export function uninjectManifests(
  text: string,
  keys: Keys,
  podTemplates: readonly PodTemplateRule[],
): { readonly text: string; readonly results: readonly UninjectResult[] } {
  const results: UninjectResult[] = [];
  const documents = readManifests(text).map((document) => {
    const replacements: Replacement[] = [];
    for (const site of podSites(document, podTemplates)) {
      const pod = uninject(site.pod, keys);
      const isMarked = annotation(site.pod, keys.status) !== undefined;
      results.push({ site, outcome: pod ? 'restored' : isMarked ? 'unreadable' : 'untouched' });
      if (pod) replacements.push([site.path, pod]);
    }
    return replacements.length === 0 ? document : replaceAt(document, replacements);
  });
  return { text: writeManifests(text, documents), results };
}

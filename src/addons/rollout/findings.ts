import { splitKey } from '../../kube/api/object.ts';
import { clip } from '../../util/clip.ts';
import { isArray, own, ownObjects, ownString } from '../../util/json.ts';
import { parseAnnotation } from '../../util/text-bounds.ts';
import type { RolloutPod } from './core/pod.ts';

/** The annotation of a revision with what the leader has found out about pods, for the command line. */
export const FINDINGS = 'initializer.kubernetes.io/revision-findings';

/** Most of what waits for less is free a moment later. */
const LASTING_MS = 5_000;
/** An annotation has a limit. */
const [MOST_PODS, MOST_REASONS, MOST_WORDS] = [2_000, 50, 300];
/** The command line looks again after this time. */
const AGAIN_MS = 10_000;

export type Finding = Pick<RolloutPod, 'verdict' | 'blocked'>;

/** What was found out about pods, as text: their UIDs by what it is and why. Empty if there is nothing. */
export function formatFindings(
  pods: Iterable<Finding & Pick<RolloutPod, 'key' | 'uid'>>,
  now: number,
): string {
  const groups = new Map<string, { readonly is: string; readonly why: string; readonly pods: string[] }>();
  let count = 0;
  for (const { key, uid, verdict, blocked } of pods) {
    const isBlocked = blocked !== undefined && now < blocked.until && now >= blocked.since + LASTING_MS;
    const [is, words] = verdict
      ? [verdict.how, verdict.why]
      : ['blocked', isBlocked ? blocked.why : undefined];
    if (words === undefined || count === MOST_PODS) continue;
    // The API server names the pod in what it refuses.
    const said = clip(words.replaceAll(`"${splitKey(key).name}"`, '"…"'), MOST_WORDS);
    const why = groups.size < MOST_REASONS || groups.has(`${is} ${said}`) ? said : 'one of many reasons';
    const id = `${is} ${why}`;
    const group = groups.get(id) ?? { is, why, pods: [] };
    groups.set(id, group);
    group.pods.push(uid);
    count += 1;
  }
  return groups.size === 0 ? '' : JSON.stringify({ found: [...groups.values()] });
}

/** What the leader has found out, by the UIDs of pods. */
export function readFindings(text: string | undefined, now: number): ReadonlyMap<string, Finding> {
  const found = new Map<string, Finding>();
  for (const group of ownObjects(parseAnnotation(text ?? ''), 'found')) {
    const [is, why = '', pods] = [ownString(group, 'is'), ownString(group, 'why'), own(group, 'pods')];
    const finding: Finding =
      is === 'refused' || is === 'replace'
        ? { verdict: { how: is, why }, blocked: undefined }
        : { verdict: undefined, blocked: { since: now, until: now + AGAIN_MS, why } };
    for (const uid of isArray(pods) ? pods : []) if (typeof uid === 'string') found.set(uid, finding);
  }
  return found;
}

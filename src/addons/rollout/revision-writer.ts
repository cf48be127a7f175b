import { parseTemplateConfigMap } from '../../injection/template/template-set.ts';
import { ifFound, isAlreadyExists, isConflict, isNotFound } from '../../kube/api/api-error.ts';
import type { ConfigMap } from '../../kube/api/core-resources.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import {
  CONTROLLER_REVISIONS,
  type ControllerRevision,
  detailsMetadata,
  newRevision,
  type RevisionDetails,
  readRevision,
  revisionName,
  STATE_LABEL,
} from './controller-revision.ts';
import { type Decision, NO_CANARY, type Revision, type Upkeep } from './plan/revision.ts';
import type { RevisionHistory } from './revision-history.ts';
import { STATUS } from './rollout-status.ts';

/** Writes ControllerRevisions, with the client of the leader. */
export function revisionWriter(
  { leaderClient: client, log }: Pick<Manager, 'leaderClient' | 'log'>,
  history: RevisionHistory,
  namespace: string,
) {
  const targetObject = () => {
    const target = history.current()?.target;
    return target && history.objectOf(target.set.hash);
  };
  /** A time after that of all revisions, also after the clock was set back: the last promoted one is the latest. */
  const now = () => Math.max(Date.now(), ...history.stored().map(({ since }) => since + 1));

  /** Writes the state of the adopted templates: creates their revision, or changes its metadata. */
  async function write(details: RevisionDetails, signal: AbortSignal): Promise<void> {
    const [set, source] = [history.adopted(), history.source()];
    if (set === undefined || source === undefined) return;
    // The cache of the ConfigMap may be ahead of the templates that are proved and adopted.
    const parsed = parseTemplateConfigMap(source.data ?? {});
    if ('faults' in parsed || parsed.set.hash !== set.hash) return;
    try {
      await writeOf(set.hash, source, details, signal);
    } catch (err) {
      // The watch delivers the newer state.
      if (!isAlreadyExists(err) && !isConflict(err) && !isNotFound(err)) throw err;
    }
  }

  async function writeOf(
    hash: string,
    source: ConfigMap,
    details: RevisionDetails,
    signal: AbortSignal,
  ): Promise<void> {
    const name = revisionName(source.metadata.name, hash);
    const isSound = (object: ControllerRevision) => readRevision(object)?.set.hash === hash;
    const cached = history.objectOf(hash);
    const { state, canary } = details;
    const written = () => log.info({ revision: name, state, canary }, 'template revision written');
    if (cached && isSound(cached)) {
      const { resourceVersion } = cached.metadata;
      const { labels, annotations } = detailsMetadata(details);
      // The status of an earlier rollout to it must not look like that of this one.
      const patch = {
        metadata: { resourceVersion, labels, annotations: { ...annotations, [STATUS]: null } },
      };
      await client.mergePatch(CONTROLLER_REVISIONS, { namespace, name }, patch, { signal });
      written();
      return;
    }
    // The cache has none without its label.
    const fieldSelector = `metadata.name=${name}`;
    const { items } = await client.list(CONTROLLER_REVISIONS, { namespace, fieldSelector, signal });
    const [live] = items.map((item) => CONTROLLER_REVISIONS.decode(item));
    if (live && isSound(live)) return;
    if (live) {
      log.warn(
        { revision: name },
        'ControllerRevision does not match its name, or has no valid state: replacing it',
      );
      const { uid } = live.metadata;
      await client.delete(CONTROLLER_REVISIONS, { namespace, name }, { preconditions: { uid }, signal });
    }
    const revision = newRevision(source, hash, history.nextNumber(), details);
    await client.create(CONTROLLER_REVISIONS, revision, { signal });
    written();
  }

  return {
    /** Writes a decision of the rollout. */
    async decide(decision: Decision, signal: AbortSignal): Promise<void> {
      const target = history.current()?.target;
      if (target) await write(detailsOf(decision, target, now(), Date.now()), signal);
    },

    /** The status of the rollout in the target's revision. */
    published: () => targetObject()?.metadata.annotations?.[STATUS],

    /** Writes the status of the rollout into the target's revision. */
    async publish(status: string, signal: AbortSignal): Promise<void> {
      const name = targetObject()?.metadata.name;
      if (name === undefined) return;
      const patch = { metadata: { annotations: { [STATUS]: status } } };
      await client.mergePatch(CONTROLLER_REVISIONS, { namespace, name }, patch, { signal });
    },

    /** Keeps the history fit for the templates of the ConfigMap. */
    async keep(upkeep: Upkeep, signal: AbortSignal): Promise<void> {
      if (upkeep.do === 'promote') {
        const details = { since: now(), canary: NO_CANARY, heldSince: undefined };
        return await write({ state: 'promoted', ...details }, signal);
      }
      const ref = { namespace, name: upkeep.name };
      const superseded = { metadata: { labels: { [STATE_LABEL]: 'superseded' } } };
      if (upkeep.do === 'delete') await ifFound(client.delete(CONTROLLER_REVISIONS, ref, { signal }));
      else await ifFound(client.mergePatch(CONTROLLER_REVISIONS, ref, superseded, { signal }));
    },
  };
}
export type RevisionWriter = ReturnType<typeof revisionWriter>;

/** What a decision makes of the target. */
function detailsOf(decision: Decision, target: Revision, begins: number, now: number): RevisionDetails {
  const { state, since, canary, heldSince } = target;
  if (decision.do === 'begin') {
    const at = state === 'new' ? begins : since;
    return { state: 'canary', since: at, canary: decision.canary, heldSince: undefined };
  }
  if (decision.do === 'hold') return { state: 'canary', since, canary, heldSince: now };
  return { state: decision.do === 'promote' ? 'promoted' : 'halted', since, canary, heldSince };
}

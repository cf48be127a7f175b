import { parseTemplateConfigMap } from '../../injection/template/template-set.ts';
import { ifFound, isAlreadyExists, isConflict, isNotFound } from '../../kube/api/api-error.ts';
import type { ConfigMap } from '../../kube/api/core-resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Logger } from '../../kube/util/log.ts';
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

export interface RevisionWriterOptions {
  /** The client of the leader. */
  readonly client: KubeClient;
  readonly log: Logger;
  readonly history: RevisionHistory;
  readonly namespace: string;
}

/** Writes ControllerRevisions. For the leader. */
export class RevisionWriter {
  readonly #options: RevisionWriterOptions;

  constructor(options: RevisionWriterOptions) {
    this.#options = options;
  }

  /** Writes a decision of the rollout. */
  async decide(decision: Decision, signal: AbortSignal): Promise<void> {
    const target = this.#options.history.current()?.target;
    if (target === undefined) return;
    await this.#write(detailsOf(decision, target, this.#now(), Date.now()), signal);
  }

  /** The status of the rollout in the target's revision. */
  published(): string | undefined {
    return this.#targetObject()?.metadata.annotations?.[STATUS];
  }

  /** Writes the status of the rollout into the target's revision. */
  async publish(status: string, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    const name = this.#targetObject()?.metadata.name;
    if (name === undefined) return;
    const patch = { metadata: { annotations: { [STATUS]: status } } };
    await client.mergePatch(CONTROLLER_REVISIONS, { namespace, name }, patch, { signal });
  }

  #targetObject(): ControllerRevision | undefined {
    const { history } = this.#options;
    const target = history.current()?.target;
    return target && history.objectOf(target.set.hash);
  }

  /** Keeps the history fit for the templates of the ConfigMap. */
  async keep(upkeep: Upkeep, signal: AbortSignal): Promise<void> {
    if (upkeep.do === 'promote') {
      const details = { since: this.#now(), canary: NO_CANARY, heldSince: undefined };
      return await this.#write({ state: 'promoted', ...details }, signal);
    }
    const { client, namespace } = this.#options;
    const ref = { namespace, name: upkeep.name };
    const superseded = { metadata: { labels: { [STATE_LABEL]: 'superseded' } } };
    if (upkeep.do === 'delete') await ifFound(client.delete(CONTROLLER_REVISIONS, ref, { signal }));
    else await ifFound(client.mergePatch(CONTROLLER_REVISIONS, ref, superseded, { signal }));
  }

  /** A time after that of all revisions, also after the clock was set back: the last promoted one is the latest. */
  #now(): number {
    return Math.max(Date.now(), ...this.#options.history.stored().map(({ since }) => since + 1));
  }

  /** Writes the state of the adopted templates: creates their revision, or changes its metadata. */
  async #write(details: RevisionDetails, signal: AbortSignal): Promise<void> {
    const { history } = this.#options;
    const [set, source] = [history.adopted(), history.source()];
    if (set === undefined || source === undefined) return;
    // The cache of the ConfigMap may be ahead of the templates that are proved and adopted.
    const parsed = parseTemplateConfigMap(source.data ?? {});
    if ('faults' in parsed || parsed.set.hash !== set.hash) return;
    try {
      await this.#writeOf(set.hash, source, details, signal);
    } catch (err) {
      // The watch delivers the newer state.
      if (!isAlreadyExists(err) && !isConflict(err) && !isNotFound(err)) throw err;
    }
  }

  async #writeOf(
    hash: string,
    source: ConfigMap,
    details: RevisionDetails,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, log, history, namespace } = this.#options;
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
    await client.create(CONTROLLER_REVISIONS, newRevision(source, hash, history.nextNumber(), details), {
      signal,
    });
    written();
  }
}

/** What a decision makes of the target. */
function detailsOf(decision: Decision, target: Revision, begins: number, now: number): RevisionDetails {
  const { state, since, canary, heldSince } = target;
  switch (decision.do) {
    case 'begin':
      return {
        state: 'canary',
        since: state === 'new' ? begins : since,
        canary: decision.canary,
        heldSince: undefined,
      };
    case 'hold':
      return { state: 'canary', since, canary, heldSince: now };
    case 'promote':
      return { state: 'promoted', since, canary, heldSince };
    case 'halt':
      return { state: 'halted', since, canary, heldSince };
  }
}

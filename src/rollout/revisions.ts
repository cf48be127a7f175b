import { isAlreadyExists, isConflict, isForbidden, isNotFound } from '../kube/api/api-error.ts';
import { CONFIG_MAPS, type ConfigMap } from '../kube/api/core-resources.ts';
import type { KubeObject } from '../kube/api/object.ts';
import type { Informer } from '../kube/cache/informer.ts';
import { waitForSync } from '../kube/cache/wait-for-sync.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { maxTimerMs } from '../kube/workqueue/clock.ts';
import { Trigger } from '../kube/workqueue/trigger.ts';
import { keysFor } from '../sidecar/keys.ts';
import type { NamespaceSettings } from '../sidecar/namespace-settings.ts';
import { parseStatus, type Status } from '../sidecar/status.ts';
import { isCanary } from '../sidecar/template/canary.ts';
import type { CanaryScope } from '../sidecar/template/strategy.ts';
import { parseTemplateSet, type TemplateSet, type TemplateState } from '../sidecar/template/template-set.ts';
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
import { revisionsOf, type StoredRevision, type Upkeep, upkeepOf } from './core/history.ts';
import type { Decision, Revisions } from './core/revision.ts';
import { forecastWarning } from './forecast-warning.ts';

/** The annotation of the template's ConfigMap that pauses a rollout with the value `true`. */
export const PAUSED_KEY = 'initializer.kubernetes.io/rollout-paused';

export interface RevisionsOptions {
  readonly namespace: string;
  readonly configmap: string;
  readonly annotation: string;
  readonly template: {
    readonly templates: { readonly state: TemplateState };
    readonly prover: {
      prove(
        set: TemplateSet,
        texts: Readonly<Record<string, string>>,
        ms: number,
        signal: AbortSignal,
      ): Promise<{ readonly set: TemplateSet }>;
    };
    onAdopted(listener: () => void): void;
  };
  /** Live pods with their status annotations. */
  readonly pods: Informer<KubeObject>;
  readonly namespaces: { cached(namespace: string): NamespaceSettings };
}

/** The revisions of the templates, on every replica. */
export interface TemplateRevisions {
  /** What the rollout goes from and to; undefined without a strategy, and until the first revision is written. */
  current(): Revisions | undefined;
  /** The templates for a new pod: those of the target only if it is promoted, or the pod belongs to its canary. */
  forPod(pod: { readonly controllerUid: string | undefined }, namespace: NamespaceSettings): TemplateState;
  /** The templates for all pods outside of the canary, and the canary while there is one. */
  forPolicies(): { readonly state: TemplateState; readonly canary: CanaryScope | undefined };
  /** The known templates that a pod has by its status; undefined if none has them. */
  find(status: Status): TemplateSet | undefined;
  /** Writes a decision of a rollout. For the leader. */
  decide(decision: Decision, signal: AbortSignal): Promise<void>;
  /** Calls the listener when the answers above may have changed. */
  onChanged(listener: () => void): void;
  hasSynced(): boolean;
  /** What templates would do to running pods, in one line; undefined without a strategy for them. */
  forecast(set: TemplateSet): string | undefined;
}

const KEY = 'revisions';
/** How often to try again where the operator lacks the rights. */
const RIGHTS_MS = 60_000;
const ADVICE = 'apply deploy/overlays/rollout';
const [PROOF_MS, PROOF_AGAIN_MS] = [10_000, 30_000];
const NO_CANARY: CanaryScope = { namespaces: undefined, percent: 0 };

/** Sets up the history of the templates: every replica reads it, the leader writes it. */
export function setUpRevisions(manager: Manager, options: RevisionsOptions): TemplateRevisions {
  const { namespace, configmap, template, pods } = options;
  const { leaderClient: client, log } = manager;
  const keys = keysFor(options.annotation);
  const objects = manager.informer(CONTROLLER_REVISIONS, { namespace, labelSelector: STATE_LABEL });
  const configMaps = manager.informer(CONFIG_MAPS, {
    namespace,
    fieldSelector: `metadata.name=${configmap}`,
  });
  const read = new Map<string, { readonly version: string; readonly revision: StoredRevision | undefined }>();
  /** The promoted templates with what the API server says about them, by hash. */
  const proved = new Map<string, TemplateSet>();
  const listeners: (() => void)[] = [];
  const proofs = new Trigger();
  let isForbiddenLogged = false;
  let memo: { readonly set: TemplateSet; readonly revisions: Revisions | undefined } | undefined;
  const changed = () => {
    memo = undefined;
    proofs.fire();
    for (const listener of listeners) listener();
  };

  const configMap = (): ConfigMap | undefined => configMaps.lister.get(`${namespace}/${configmap}`);
  const adopted = (): TemplateSet | undefined => {
    const { state } = template.templates;
    return 'set' in state ? state.set : undefined;
  };
  const isActive = (set: TemplateSet) => set.rollout !== undefined && set.rollout.mode !== 'new-pods';
  const prefix = `${configmap}-`;
  const stored = (): readonly StoredRevision[] =>
    objects.lister.list().flatMap((object) => {
      const { name, resourceVersion: version = '' } = object.metadata;
      if (!name.startsWith(prefix)) return [];
      const known = read.get(name);
      if (known?.version === version) return known.revision ?? [];
      const revision = readRevision(object);
      read.set(name, { version, revision });
      return revision ?? [];
    });

  function current(): Revisions | undefined {
    const set = adopted();
    if (set === undefined || !isActive(set)) return undefined;
    if (memo?.set === set) return memo.revisions;
    const paused = configMap()?.metadata.annotations?.[PAUSED_KEY] === 'true';
    memo = { set, revisions: revisionsOf(set, stored(), paused) };
    return memo.revisions;
  }

  const promotedSet = ({ promoted: { set } }: Revisions) => proved.get(set.hash) ?? set;

  // Every replica proves the promoted templates, too: it must know which pods the API server would refuse with them.
  async function prove(signal: AbortSignal): Promise<void> {
    const revisions = current();
    if (!revisions || revisions.promoted === revisions.target) return;
    const { set } = revisions.promoted;
    if (proved.has(set.hash)) return;
    const object = objects.lister.get(`${namespace}/${revisionName(configmap, set.hash)}`);
    const texts = (object?.data ?? {}) as Readonly<Record<string, string>>;
    const proof = await template.prover.prove(set, texts, PROOF_MS, signal);
    proved.clear();
    proved.set(set.hash, proof.set);
    changed();
  }

  const work = manager.controller('revisions');
  const wake = () => {
    work.queue.add(KEY);
    changed();
  };
  for (const informer of [objects, configMaps] as Informer<KubeObject>[])
    informer.addEventHandler({ onAdd: wake, onUpdate: wake, onDelete: wake });
  template.onAdopted(wake);
  const after = (signal: AbortSignal) => waitForSync([objects, configMaps, pods], signal);
  work.reconcile(
    async (_, signal) => {
      const set = adopted();
      const source = configMap();
      if (set === undefined || source === undefined) return {};
      const used = usedTemplates(pods, keys.status);
      const isUsed = ({ templates }: TemplateSet) =>
        [...templates.values()].some(({ hash }) => used().has(hash));
      try {
        for (const upkeep of upkeepOf(set, stored(), isActive(set), isUsed)) await keep(upkeep, signal);
        isForbiddenLogged = false;
      } catch (err) {
        if (!isForbidden(err)) throw err;
        if (!isForbiddenLogged) {
          log.error({ err }, `cannot write ControllerRevisions: ${ADVICE}`);
          const note = `No pod gets the new template: the operator cannot write ControllerRevisions: ${ADVICE}`;
          const regarding = { ...source, apiVersion: 'v1', kind: 'ConfigMap' };
          manager.events.event(regarding, {
            type: 'Warning',
            reason: 'RolloutForbidden',
            action: 'RollOut',
            note,
          });
        }
        isForbiddenLogged = true;
        return { requeueAfterMs: RIGHTS_MS };
      }
      return {};
    },
    { keys: () => [KEY], after },
  );
  manager.everyReplica(
    'revision-proof',
    async (signal) => {
      while (!signal.aborted) {
        const isDone = await prove(signal).then(
          () => true,
          (err: unknown) => {
            if (!signal.aborted) log.warn({ err }, 'cannot prove the promoted templates, retrying');
            return false;
          },
        );
        await proofs.next(isDone ? maxTimerMs : PROOF_AGAIN_MS, signal);
      }
    },
    { after },
  );

  async function keep(upkeep: Upkeep, signal: AbortSignal): Promise<void> {
    if (upkeep.do === 'promote')
      return await write(
        { state: 'promoted', since: Date.now(), canary: NO_CANARY, heldSince: undefined },
        signal,
      );
    const ref = { namespace, name: upkeep.name };
    try {
      if (upkeep.do === 'delete') await client.delete(CONTROLLER_REVISIONS, ref, { signal });
      else
        await client.mergePatch(
          CONTROLLER_REVISIONS,
          ref,
          { metadata: { labels: { [STATE_LABEL]: 'superseded' } } },
          { signal },
        );
    } catch (err) {
      if (!isNotFound(err)) throw err;
    }
  }

  /** Writes the state of the adopted templates: creates their revision, or changes its metadata. */
  async function write(details: RevisionDetails, signal: AbortSignal): Promise<void> {
    const [set, source] = [adopted(), configMap()];
    if (set === undefined || source === undefined) return;
    // The cache of the ConfigMap may be ahead of the templates that are proved and adopted.
    const parsed = parseTemplateSet(source.data ?? {});
    if ('faults' in parsed || parsed.set.hash !== set.hash) return;
    const name = revisionName(configmap, set.hash);
    const cached = objects.lister.get(`${namespace}/${name}`);
    const isSound = (object: ControllerRevision) => readRevision(object)?.set.hash === set.hash;
    log.info({ revision: name, state: details.state, canary: details.canary }, 'template revision written');
    try {
      if (cached && isSound(cached)) {
        const { resourceVersion } = cached.metadata;
        const patch = { metadata: { resourceVersion, ...detailsMetadata(details) } };
        await client.mergePatch(CONTROLLER_REVISIONS, { namespace, name }, patch, { signal });
        return;
      }
      // The cache has none without its label.
      const { items } = await client.list(CONTROLLER_REVISIONS, {
        namespace,
        fieldSelector: `metadata.name=${name}`,
        signal,
      });
      const [live] = items.map((item) => CONTROLLER_REVISIONS.decode(item));
      if (live && isSound(live)) return;
      if (live) {
        log.warn(
          { revision: name },
          'ControllerRevision has other templates than its name says, or no valid state: replacing it',
        );
        const { uid } = live.metadata;
        await client.delete(CONTROLLER_REVISIONS, { namespace, name }, { preconditions: { uid }, signal });
      }
      const number = Math.max(0, ...objects.lister.list().map(({ revision = 0 }) => revision)) + 1;
      await client.create(CONTROLLER_REVISIONS, newRevision(source, set.hash, number, details), { signal });
    } catch (err) {
      // The watch delivers the newer state.
      if (!isAlreadyExists(err) && !isConflict(err) && !isNotFound(err)) throw err;
    }
  }

  return {
    current,
    forPod({ controllerUid }, { namespaceLabels }) {
      const { state } = template.templates;
      const revisions = current();
      if (revisions === undefined || revisions.promoted === revisions.target) return state;
      const { target } = revisions;
      if (target.state === 'canary' && isCanary(target.canary, namespaceLabels, controllerUid)) return state;
      return { set: promotedSet(revisions) };
    },
    forPolicies() {
      const { state } = template.templates;
      const revisions = current();
      if (revisions === undefined || revisions.promoted === revisions.target)
        return { state, canary: undefined };
      const { target } = revisions;
      return {
        state: { set: promotedSet(revisions) },
        canary: target.state === 'canary' ? target.canary : undefined,
      };
    },
    find(status) {
      const sets = [adopted(), ...stored().map((revision) => revision.set)].filter(
        (set) => set !== undefined,
      );
      return sets.find(({ templates }) =>
        status.templates.every(({ name, sha256 }) => templates.get(name)?.hash === sha256),
      );
    },
    async decide(decision, signal) {
      const revisions = current();
      if (revisions === undefined) return;
      const { state, canary, since, heldSince } = revisions.target;
      const now = Date.now();
      switch (decision.do) {
        case 'begin':
          return await write(
            {
              state: 'canary',
              since: state === 'new' ? now : since,
              canary: decision.canary,
              heldSince: undefined,
            },
            signal,
          );
        case 'hold':
          return await write({ state: 'canary', since, canary, heldSince: now }, signal);
        case 'promote':
          return await write({ state: 'promoted', since, canary, heldSince }, signal);
        case 'halt':
          return await write({ state: 'halted', since, canary, heldSince }, signal);
      }
    },
    onChanged: (listener) => void listeners.push(listener),
    forecast: forecastWarning({
      pods: pods.lister,
      namespaceSettings: (name) => options.namespaces.cached(name),
      keys,
    }),
    hasSynced: () => {
      const set = adopted();
      return set === undefined || !isActive(set) || (objects.hasSynced() && configMaps.hasSynced());
    },
  };
}

/** Returns a function that computes the hashes of the templates of live pods once. */
function usedTemplates(pods: Informer<KubeObject>, key: string): () => ReadonlySet<string> {
  let hashes: ReadonlySet<string> | undefined;
  return () => {
    hashes ??= new Set(
      pods.lister
        .list()
        .flatMap(({ metadata }) =>
          (parseStatus(metadata.annotations?.[key])?.templates ?? []).map(({ sha256 }) => sha256),
        ),
    );
    return hashes;
  };
}

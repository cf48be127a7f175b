import type { Keys } from '../../injection/keys.ts';
import { parseStatus } from '../../injection/status.ts';
import { isCanary } from '../../injection/template/strategy.ts';
import type { TemplateSet } from '../../injection/template/template-set.ts';
import type { TemplateChoice } from '../../injection/webhook/new-pod-templates.ts';
import { isForbidden } from '../../kube/api/api-error.ts';
import { CONFIG_MAPS } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import { regardingOf } from '../../kube/api/resource.ts';
import { type Informer, waitForSync } from '../../kube/cache/informer.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { toError } from '../../kube/util/errors.ts';
import type { Core } from '../../operator/core.ts';
import { CONTROLLER_REVISIONS, STATE_LABEL } from './controller-revision.ts';
import { forecastWarning } from './forecast.ts';
import { upkeepOf } from './plan/revision.ts';
import {
  FORBIDDEN_ADVICE,
  promotedProofs,
  type RevisionHistory,
  type RolloutOptions,
  revisionHistory,
} from './revision-history.ts';
import { type RevisionWriter, revisionWriter } from './revision-writer.ts';

/** The revisions of the templates, on every replica. */
export interface TemplateRevisions extends TemplateChoice {
  readonly history: RevisionHistory;
  /** For the leader. */
  readonly writer: RevisionWriter;
}

const KEY = 'revisions';
/** How often to look for promoted templates to prove, and to try again. */
const PROOFS = { everyMs: 1_000, retryMs: 15_000 };
/** How often to try again where the operator lacks the rights. */
const RIGHTS_MS = 60_000;
const LACKS_RIGHT = / is forbidden: User .* cannot /;

/** Sets up the history of the templates: every replica reads it, the leader writes it. */
export function setUpRevisions(
  manager: Manager,
  { template, serverMinor, namespaces, pods, decideOptions: { keys } }: Core,
  options: RolloutOptions,
): TemplateRevisions {
  const { namespace, configmap } = options;
  const objects = manager.informer(CONTROLLER_REVISIONS, { namespace, labelSelector: STATE_LABEL });
  const fieldSelector = `metadata.name=${configmap}`;
  const configMaps = manager.informer(CONFIG_MAPS, { namespace, fieldSelector });
  const history = revisionHistory(options, template.templates, configMaps.lister, objects.lister);
  const listeners: (() => void)[] = [];
  const changed = () => {
    history.changed();
    for (const listener of listeners) listener();
  };
  const proofs = promotedProofs(history, template.dryRun, changed);
  const writer = revisionWriter(manager, history, namespace);

  const work = manager.controller('revisions');
  const wake = () => {
    work.queue.add(KEY);
    changed();
  };
  for (const informer of [objects, configMaps] as Informer<KubeObject>[])
    informer.addEventHandler({ onAdd: wake, onUpdate: wake, onDelete: wake });
  template.onAdopted(wake);
  serverMinor.onChanged((before) => {
    if (before !== undefined) proofs.again();
  });
  const after = async (signal: AbortSignal) => {
    // No event says that the caches are whole, and others wait for it.
    if (await waitForSync([objects, configMaps, pods], signal)) changed();
  };
  work.reconcile(upkeepReconcile(manager, { history, writer }, pods, keys), {
    keys: () => [KEY],
    after,
    waiting: () => regardingOf(CONFIG_MAPS, history.source()),
  });
  manager.everyReplica('revision-proof', (signal) => proofs.prove(signal), { after, ...PROOFS });
  const unknown = () => {
    const isKnown = !history.adopted()?.rollout || (objects.hasSynced() && configMaps.hasSynced());
    return isKnown ? undefined : 'revisions of the template not synced';
  };
  manager.addReadyz('revisions', unknown);
  /** The templates outside of the canary; the canary is undefined while there is none. */
  function forPolicies() {
    const fault = unknown();
    // Until then it is not known which one is promoted.
    if (fault !== undefined) return { state: { fault }, canary: undefined };
    const revisions = history.current();
    if (revisions === undefined || revisions.promoted === revisions.target)
      return { state: template.templates.state, canary: undefined };
    const { target, promoted } = revisions;
    return {
      state: { set: proofs.setOf(promoted) },
      canary: target.state === 'canary' ? target.canary : undefined,
    };
  }
  return {
    ...{ history, writer, forPolicies },
    forPod({ controllerUid }, { namespaceLabels }) {
      const { state, canary } = forPolicies();
      return canary && isCanary(canary, namespaceLabels, controllerUid) ? template.templates.state : state;
    },
    onChanged: (listener) => void listeners.push(listener),
    forecast: forecastWarning(pods.lister, (name) => namespaces.cached(name), keys),
  };
}

/** Returns the reconcile of the leader: it keeps the history fit for the templates of the ConfigMap. */
function upkeepReconcile(
  { log, events }: Manager,
  { history, writer }: Pick<TemplateRevisions, 'history' | 'writer'>,
  pods: Informer<KubeObject>,
  keys: Keys,
): Reconcile {
  let isForbiddenLogged = false;
  return async (_, signal) => {
    const [set, source] = [history.adopted(), history.source()];
    if (set === undefined || source === undefined) return {};
    let used: ReadonlySet<string> | undefined;
    const isUsed = ({ templates }: TemplateSet) => {
      used ??= usedTemplates(pods, keys.status);
      return [...templates.values()].some(({ hash }) => used?.has(hash));
    };
    try {
      for (const upkeep of upkeepOf(set, history.stored(), set.rollout !== undefined, isUsed))
        await writer.keep(upkeep, signal);
      isForbiddenLogged = false;
      return {};
    } catch (err) {
      // Others refuse it, too, such as a quota or a policy.
      if (!isForbidden(err) || !LACKS_RIGHT.test(toError(err).message)) throw err;
      if (!isForbiddenLogged) {
        log.error({ err }, `cannot write ControllerRevisions: ${FORBIDDEN_ADVICE}`);
        const note = `No pod gets the new template: the operator cannot write ControllerRevisions: ${FORBIDDEN_ADVICE}`;
        events.event(regardingOf(CONFIG_MAPS, source), {
          type: 'Warning',
          reason: 'RolloutForbidden',
          action: 'RollOut',
          note,
        });
      }
      isForbiddenLogged = true;
      return { requeueAfterMs: RIGHTS_MS };
    }
  };
}

/** The hashes of the templates of live pods. */
function usedTemplates(pods: Informer<KubeObject>, key: string): ReadonlySet<string> {
  const statuses = pods.lister
    .list()
    .flatMap(({ metadata }) => parseStatus(metadata.annotations?.[key]) ?? []);
  return new Set(statuses.flatMap(({ templates }) => templates.map(({ sha256 }) => sha256)));
}

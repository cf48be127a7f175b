import { CONFIG_MAPS } from '../../kube/api/core-resources.ts';
import { regardingOf } from '../../kube/api/resource.ts';
import { waitForSync } from '../../kube/cache/informer.ts';
import { RESTORE_MS, restoreConfigMap } from '../../kube/client/restore-config-map.ts';
import type { ServerMinor } from '../../kube/client/server-version.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { formatInText } from '../../util/diagnostic.ts';
import type { Keys } from '../keys.ts';
import { DEFAULT_TEMPLATE_YAML } from './default-template.ts';
import { LiveTemplates } from './live-templates.ts';
import { templateMetrics } from './metrics.ts';
import { templateDryRun } from './template-dry-run.ts';

/** The current templates, kept in sync with their ConfigMap. */
export type TemplateSetup = ReturnType<typeof setUpTemplate>;

/**
 * Watches and proves the ConfigMap of this name on every replica, also after an upgrade of the API server. Creates it if
 * it does not exist: with the templates in use, else with the default one.
 */
export function setUpTemplate(
  manager: Manager,
  namespace: string,
  name: string,
  keys: Keys,
  serverMinor: ServerMinor,
) {
  const { client, clock, log, events } = manager;
  const metrics = templateMetrics(manager.registry);
  const [ref, key] = [{ metadata: { namespace, name } }, `${namespace}/${name}`];
  const informer = manager.informer(CONFIG_MAPS, { namespace, fieldSelector: `metadata.name=${name}` });
  const current = () => informer.lister.get(key);
  const regarding = () => regardingOf(CONFIG_MAPS, current() ?? ref);
  const listeners: (() => void)[] = [];
  const adopted = () => {
    for (const listener of listeners) listener();
  };
  const dryRun = templateDryRun(client, clock, keys, namespace);
  const templates = new LiveTemplates({
    configMap: key,
    current,
    dryRun,
    observer: {
      adopted(set, generation) {
        metrics.adopted(generation);
        const names = [...set.templates.keys()];
        log.info({ configMap: name, templates: names, hash: set.hash, generation }, 'template adopted');
        const note = `New pods (in a rollout, the canary's first) get: ${names.join(', ')}`;
        events.event(regarding(), { type: 'Normal', reason: 'TemplateAdopted', action: 'Adopt', note });
        adopted();
      },
      strategyChanged() {
        log.info({ configMap: name }, 'rollout strategy changed');
        adopted();
      },
      rejected(faults, staying) {
        metrics.rejected();
        const found = faults.map(formatInText);
        const outcome = staying
          ? 'Invalid, so the last valid template stays'
          : 'There is no valid template, so pods with their own opt-in are refused';
        log.error({ configMap: name, faults: found, staying: staying?.hash }, 'template refused');
        const note = `${outcome}: ${found.join('; ')}`;
        events.event(regarding(), { type: 'Warning', reason: 'InvalidTemplate', action: 'Adopt', note });
        // Templates that were adopted before they could be proved have made way for the last good ones.
        adopted();
      },
      warned: (warnings) => log.warn({ configMap: name, warnings }, 'template tested with warnings'),
    },
  });
  const controller = manager.controller('template', 1, { everyReplica: true });
  const prove = () => {
    templates.changed();
    controller.queue.add(key);
  };
  informer.addEventHandler({ onAdd: prove, onUpdate: prove, onDelete: prove });
  const after = (signal: AbortSignal) => waitForSync([informer], signal);
  controller.reconcile((_, signal) => templates.reconcile(signal), {
    keys: () => (current() ? [key] : []),
    after,
  });
  serverMinor.onChanged((before) => {
    // At the start, the ConfigMap is proved anyway.
    if (before === undefined) return;
    dryRun.forget();
    prove();
  });
  // Else the next replica that starts would create the default one for all.
  const create = restoreConfigMap({ client, lister: informer.lister, log, events }, () => {
    return { ...ref, data: templates.texts ?? { config: DEFAULT_TEMPLATE_YAML } };
  });
  manager.everyReplica('default-template', create, { after, everyMs: RESTORE_MS });

  return {
    templates,
    dryRun,
    /** Calls the listener whenever other templates, or another strategy for them, come into use. */
    onAdopted: (listener: () => void): void => void listeners.push(listener),
    /** Whether the ConfigMap was read and, if it exists, judged. */
    hasSynced: (): boolean => informer.hasSynced() && templates.isSettled,
  };
}

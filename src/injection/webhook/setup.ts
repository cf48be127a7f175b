import type { KubeObject } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { ownString } from '../../util/json.ts';
import { controllerIn } from '../podspec/pod.ts';
import type { DecideOptions } from '../rule.ts';
import type { TemplateSet } from '../template/template-set.ts';
import { createEnvoyHandler, createTemplateHandler } from './config-map-handlers.ts';
import { createInjectHandler, type InjectHandlerOptions } from './inject-handler.ts';
import { injectionMetrics } from './metrics.ts';
import type { Namespaces } from './namespaces.ts';
import { NewPodEvents, reportInjection } from './new-pod-events.ts';
import type { TemplateChoice } from './new-pod-templates.ts';
import { onNewPod } from './pod-cache.ts';
import type { TemplateSetup } from './template-setup.ts';
import { createWorkloadHandler } from './workload-handler.ts';

/** The flags of `serve` that the webhook uses. */
export interface WebhookOptions {
  readonly namespace: string;
  readonly configmap: string;
  readonly annotation: string;
  readonly requireAnnotation: boolean;
  readonly clientCaFile: string | undefined;
  readonly port: number;
}

export interface InjectorOptions extends Pick<WebhookOptions, 'namespace' | 'configmap'> {
  readonly decideOptions: DecideOptions;
  readonly template: TemplateSetup;
  readonly namespaces: Namespaces;
  readonly newPods: TemplateChoice;
  readonly pods: Informer<KubeObject>;
}

/** Sets up the webhooks for pods, templates and Envoy's configuration, on every replica. */
export function setUpInjector(manager: Manager, options: InjectorOptions): void {
  const { namespace, configmap: configMap, decideOptions, template, namespaces, newPods } = options;
  const { clock, log } = manager;
  const metrics = injectionMetrics(manager.registry);
  const events = new NewPodEvents(manager.events, () => clock.now());
  onNewPod(options.pods, (pod) => events.seen(pod));
  const decisions: Pick<InjectHandlerOptions, 'decideOptions' | 'templates' | 'namespaceSettings'> = {
    decideOptions,
    templates: (pod, namespace) =>
      newPods.forPod({ controllerUid: ownString(controllerIn(pod), 'uid') }, namespace),
    namespaceSettings: namespaces.settings,
  };
  const inject = createInjectHandler({
    ...decisions,
    observe: (record) => {
      metrics.decided(record.decision, record.reason ?? '');
      metrics.injected(record.templates ?? []);
      reportInjection(events, record);
    },
    log,
    now: () => clock.now(),
  });
  manager.webhook('/inject', inject);
  manager.webhook('/validate-workload', createWorkloadHandler(decisions));
  const { dryRun } = template;
  const forecast = (set: TemplateSet) => newPods.forecast(set);
  manager.webhook('/validate', createTemplateHandler({ namespace, configMap, log, dryRun, forecast }));
  manager.webhook('/validate-envoy', createEnvoyHandler());
  manager.addReadyz('template', () =>
    template.hasSynced() ? undefined : 'template ConfigMap not yet synced and tested',
  );
  manager.addReadyz('namespaces', () => (namespaces.hasSynced() ? undefined : 'namespace labels not synced'));
}

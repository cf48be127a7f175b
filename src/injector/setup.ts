import type { KubeObject } from '../kube/api/object.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { keysFor } from '../sidecar/keys.ts';
import { createEnvoyHandler } from './envoy-handler.ts';
import { createInjectHandler } from './inject-handler.ts';
import { reportInjection } from './injection-events.ts';
import { injectionMetrics } from './metrics.ts';
import type { Namespaces } from './namespaces.ts';
import { NewPodEvents } from './new-pod-events.ts';
import { createTemplateHandler } from './template-handler.ts';
import type { LiveTemplate } from './template-store.ts';

/** The flags of `serve` that the webhook uses. */
export interface WebhookOptions {
  readonly namespace: string;
  readonly configmap: string;
  readonly annotation: string;
  readonly requireAnnotation: boolean;
  readonly clientCaFile: string | undefined;
  readonly port: number;
}

export interface InjectorOptions
  extends Pick<WebhookOptions, 'namespace' | 'configmap' | 'annotation' | 'requireAnnotation'> {
  readonly template: LiveTemplate;
  readonly namespaces: Namespaces;
  /** Calls the listener with each pod that is added to a cache. */
  readonly onPod: (listener: (pod: KubeObject) => void) => void;
}

/** Sets up the webhooks for pods, templates and Envoy's configuration, on every replica. */
export function setUpInjector(manager: Manager, options: InjectorOptions): void {
  const { namespace, configmap: configMap, requireAnnotation, template, namespaces } = options;
  const { clock, log } = manager;
  const metrics = injectionMetrics(manager.registry);
  const events = new NewPodEvents(manager.events, () => clock.now());
  options.onPod((pod) => events.seen(pod));
  const inject = createInjectHandler({
    decide: { keys: keysFor(options.annotation), requireAnnotation, operatorNamespace: namespace },
    templates: () => template.templates.state,
    namespaceSettings: namespaces.settings,
    observe: (record) => {
      metrics.decided(record.decision, record.reason ?? '');
      metrics.injected(record.templates ?? []);
      reportInjection(events, record);
    },
    log,
    now: () => clock.now(),
  });
  manager.webhook('/inject', inject);
  manager.webhook('/validate', createTemplateHandler({ namespace, configMap, log, prover: template.prover }));
  manager.webhook('/validate-envoy', createEnvoyHandler());
  manager.addReadyz('template', () =>
    template.hasSynced() ? undefined : 'template ConfigMap not synced and proved',
  );
  manager.addReadyz('namespaces', () => (namespaces.hasSynced() ? undefined : 'namespace labels not synced'));
}

import type { KubeObject } from '../../kube/api/object.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { own, ownObjects, ownString } from '../../util/json.ts';
import { keysFor } from '../keys.ts';
import type { NamespaceSettings } from '../namespace-settings.ts';
import type { Pod } from '../podspec/pod.ts';
import type { TemplateSet, TemplateState } from '../template/template-set.ts';
import { createEnvoyHandler } from './envoy-handler.ts';
import { createInjectHandler, type InjectHandlerOptions } from './inject-handler.ts';
import { reportInjection } from './injection-events.ts';
import { injectionMetrics } from './metrics.ts';
import type { Namespaces } from './namespaces.ts';
import { NewPodEvents } from './new-pod-events.ts';
import { createTemplateHandler } from './template-handler.ts';
import type { LiveTemplate } from './template-store.ts';
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

export interface InjectorOptions
  extends Pick<WebhookOptions, 'namespace' | 'configmap' | 'annotation' | 'requireAnnotation'> {
  readonly template: LiveTemplate;
  readonly namespaces: Namespaces;
  /** The templates of new pods, which a rollout may hold back. */
  readonly revisions: {
    forPod(pod: { readonly controllerUid: string | undefined }, namespace: NamespaceSettings): TemplateState;
    hasSynced(): boolean;
    /** What templates would do to running pods, in one line; undefined if nothing. */
    forecast(set: TemplateSet): string | undefined;
  };
  /** Calls the listener with each pod that is added to a cache. */
  readonly onPod: (listener: (pod: KubeObject) => void) => void;
}

/** Sets up the webhooks for pods, templates and Envoy's configuration, on every replica. */
export function setUpInjector(manager: Manager, options: InjectorOptions): void {
  const { namespace, configmap: configMap, requireAnnotation, template, namespaces, revisions } = options;
  const { clock, log } = manager;
  const metrics = injectionMetrics(manager.registry);
  const events = new NewPodEvents(manager.events, () => clock.now());
  options.onPod((pod) => events.seen(pod));
  const decisions: Pick<InjectHandlerOptions, 'decide' | 'templates' | 'namespaceSettings'> = {
    decide: { keys: keysFor(options.annotation), requireAnnotation, operatorNamespace: namespace },
    templates: (pod, namespace) => revisions.forPod({ controllerUid: controllerUid(pod) }, namespace),
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
  const { prover } = template;
  const forecast = (set: TemplateSet) => revisions.forecast(set);
  manager.webhook('/validate', createTemplateHandler({ namespace, configMap, log, prover, forecast }));
  manager.webhook('/validate-envoy', createEnvoyHandler());
  manager.addReadyz('template', () =>
    template.hasSynced() ? undefined : 'template ConfigMap not synced and proved',
  );
  manager.addReadyz('namespaces', () => (namespaces.hasSynced() ? undefined : 'namespace labels not synced'));
  manager.addReadyz('revisions', () =>
    revisions.hasSynced() ? undefined : 'revisions of the template not synced',
  );
}

/** The UID of the controller of a pod. */
function controllerUid(pod: Pod): string | undefined {
  const owners = ownObjects(own(pod, 'metadata'), 'ownerReferences');
  return ownString(
    owners.find((owner) => own(owner, 'controller') === true),
    'uid',
  );
}

import type { CertificateOptions } from '../certificates/setup.ts';
import { keysFor } from '../injection/keys.ts';
import { controllerIn } from '../injection/podspec/pod.ts';
import type { DecideOptions } from '../injection/rule.ts';
import { createEnvoyHandler, createTemplateHandler } from '../injection/webhook/config-map-handlers.ts';
import { setUpEnvoyConfiguration } from '../injection/webhook/envoy-configuration.ts';
import {
  createInjectHandler,
  createWorkloadHandler,
  type PodDecisions,
} from '../injection/webhook/inject-handler.ts';
import { injectionMetrics } from '../injection/webhook/metrics.ts';
import { setUpNamespaces } from '../injection/webhook/namespaces.ts';
import { NewPodEvents, reportInjection } from '../injection/webhook/new-pod-events.ts';
import { newPodTemplates } from '../injection/webhook/new-pod-templates.ts';
import { onNewPod, reportSidecarFailures, setUpPodCache } from '../injection/webhook/pod-cache.ts';
import { setUpTemplate } from '../injection/webhook/template-setup.ts';
import type { LogLevel } from '../kube/manager/logger.ts';
import type { Manager } from '../kube/manager/manager.ts';
import type { NetworkOptions } from '../networks/setup.ts';
import { ownString } from '../util/json.ts';
import type { SelectionFlags } from './configuration-mismatch.ts';
import { setUpServerVersion } from './server-version.ts';

/** The parsed flags of `serve` without those of add-ons; durations are in milliseconds. */
export interface OperatorOptions extends CertificateOptions, NetworkOptions, SelectionFlags {
  readonly configmap: string;
  readonly port: number;
  readonly kubeconfig: string | undefined;
  readonly master: string | undefined;
  readonly metricsPort: number;
  readonly leaderElect: boolean;
  readonly shutdownDelay: number;
  readonly shutdownTimeout: number;
  readonly logLevel: LogLevel;
  readonly logFormat: 'json' | 'pretty';
  /** Environment variables that look like flags and are none. */
  readonly ignoredVariables: readonly string[];
}

/** The part of an add-on in the operator. `options` has its own flags, too. */
export type OperatorPart = (manager: Manager, core: Core, options: OperatorOptions) => void;

/** What an add-on may use, and hook into. */
export type Core = ReturnType<typeof setUpCore>;

/** Sets up what all features of injection share. */
export function setUpCore(manager: Manager, options: OperatorOptions) {
  const { namespace, configmap, annotation, requireAnnotation } = options;
  const keys = keysFor(annotation);
  const serverMinor = setUpServerVersion(manager);
  const template = setUpTemplate(manager, namespace, configmap, keys, serverMinor);
  const namespaces = setUpNamespaces(manager, namespace, keys, serverMinor.current);
  const pods = setUpPodCache(manager, keys);
  const decideOptions: DecideOptions = { keys, requireAnnotation, operatorNamespace: namespace };
  return {
    /** How the flags decide about pods. */
    decideOptions,
    serverMinor,
    template,
    /** The templates that new pods get: an add-on may choose others than those of the ConfigMap. */
    newPods: newPodTemplates(template),
    namespaces,
    /** Live pods, with what `podSummary` keeps of them. */
    pods,
    envoyConfiguration: setUpEnvoyConfiguration(manager, namespace, keys, pods),
  };
}

/** Sets up the webhooks for pods, templates and Envoy's configuration, on every replica. */
export function setUpInjector(
  manager: Manager,
  { namespace, configmap: configMap }: OperatorOptions,
  { decideOptions, template, namespaces, newPods, pods }: Core,
): void {
  const { clock, log } = manager;
  const metrics = injectionMetrics(manager.registry);
  const events = new NewPodEvents(manager.events, () => clock.now());
  onNewPod(pods, (pod) => events.seen(pod));
  reportSidecarFailures(manager, pods);
  const decisions: PodDecisions = {
    decideOptions,
    templates: (pod, namespace) =>
      newPods.forPod({ controllerUid: ownString(controllerIn(pod), 'uid') }, namespace),
    namespaceSettings: namespaces.settings,
  };
  const inject = createInjectHandler({
    ...decisions,
    observe: (record) => {
      metrics.decided(record.decision, record.reason ?? '', record.templates ?? []);
      reportInjection(events, record);
    },
    log,
    now: () => clock.now(),
  });
  manager.webhooks.add('/inject', inject);
  manager.webhooks.add('/validate-workload', createWorkloadHandler(decisions));
  const { dryRun } = template;
  const { forecast } = newPods;
  manager.webhooks.add('/validate', createTemplateHandler({ namespace, configMap, log, dryRun, forecast }));
  manager.webhooks.add('/validate-envoy', createEnvoyHandler());
  manager.addReadyz('template', () =>
    template.hasSynced() ? undefined : 'template ConfigMap not yet synced and tested',
  );
  manager.addReadyz('namespaces', () => (namespaces.hasSynced() ? undefined : 'namespace labels not synced'));
}

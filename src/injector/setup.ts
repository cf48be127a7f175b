import type { Logger } from 'pino';
import { createApp } from '../kube/admission/handler.ts';
import type { KeyPair } from '../kube/admission/key-pair.ts';
import type { ReviewHandler } from '../kube/admission/response.ts';
import { WebhookServer } from '../kube/admission/server.ts';
import type { WebhookMetrics } from '../kube/admission/webhook-metrics.ts';
import type { ReadinessCheck } from '../kube/manager/health-server.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { keysFor } from '../sidecar/keys.ts';
import { createEnvoyHandler } from './envoy-handler.ts';
import { createInjectHandler } from './inject-handler.ts';
import { reportInjection } from './injection-events.ts';
import type { InjectionMetrics } from './metrics/injection.ts';
import type { NamespaceLabels } from './namespace-labels.ts';
import type { NewPodEvents } from './new-pod-events.ts';
import { createTemplateHandler } from './template-handler.ts';
import type { TemplateDuty } from './template-store.ts';

/** The flags of `serve` that the webhook looks at. */
export interface WebhookOptions {
  readonly namespace: string;
  readonly configmap: string;
  readonly annotation: string;
  readonly requireAnnotation: boolean;
  readonly clientCaFile: string | undefined;
  readonly port: number;
}

export interface WebhookDutyOptions {
  readonly options: WebhookOptions;
  readonly template: TemplateDuty;
  readonly namespaces: NamespaceLabels;
  /** The webhooks of others, by their paths. */
  readonly routes: Readonly<Record<string, ReviewHandler>>;
  readonly events: NewPodEvents;
  readonly metrics: InjectionMetrics & WebhookMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The webhook, wired; on every replica. */
export interface WebhookDuty {
  readonly checks: readonly ReadinessCheck[];
  /** Without one, handshakes fail; a new one closes no connection. */
  setKeyPair(pair: KeyPair): void;
  /** With --client-ca-file, handshakes fail without; PEM. */
  setClientAuthorities(authorities: string): void;
  /** Resolves with the port; rejects when it cannot be had. */
  listen(): Promise<number>;
  /** Sends callers elsewhere, answer by answer: see WebhookServer. */
  drain(): void;
  /** Finishes the calls under way, for so many milliseconds at most, then closes. */
  close(graceMs: number): Promise<void>;
}

export function webhookDuty({
  options,
  template,
  namespaces,
  routes,
  events,
  metrics,
  clock,
  log,
}: WebhookDutyOptions): WebhookDuty {
  const { namespace, configmap: configMap } = options;
  const inject = createInjectHandler({
    decide: {
      keys: keysFor(options.annotation),
      requireAnnotation: options.requireAnnotation,
      operatorNamespace: namespace,
    },
    templates: () => template.templates.state,
    namespaceLabels: namespaces.labels,
    observe: (record) => {
      metrics.decided(record.decision, record.reason ?? '');
      reportInjection(events, record);
    },
    log,
    now: () => clock.now(),
  });
  const app = createApp({
    routes: {
      '/inject': inject,
      ...routes,
      '/validate': createTemplateHandler({ namespace, configMap, log }),
      '/validate-envoy': createEnvoyHandler(),
    },
    log,
    metrics,
    now: () => clock.now(),
  });
  const server = new WebhookServer({ app, log, metrics, verifyClients: options.clientCaFile !== undefined });
  let listening = false;
  return {
    checks: [
      { name: 'webhook', failure: () => (listening ? undefined : 'it does not listen yet') },
      {
        name: 'template',
        failure: () => (template.hasSynced() ? undefined : 'its ConfigMap is not read yet'),
      },
      {
        name: 'namespaces',
        failure: () => (namespaces.hasSynced() ? undefined : 'their labels are not read yet'),
      },
    ],
    setKeyPair: (pair) => server.setKeyPair(pair),
    setClientAuthorities: (authorities) => server.setClientAuthorities(authorities),
    async listen() {
      const port = await server.listen(options.port);
      listening = true;
      return port;
    },
    drain: () => server.drain(),
    close: (graceMs) => server.close(graceMs),
  };
}

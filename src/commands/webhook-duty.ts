import type { Logger } from 'pino';
import type { ServeOptions } from '../config.ts';
import { keysFor } from '../inject/keys.ts';
import type { InjectionMetrics } from '../metrics/injection.ts';
import type { ReadinessCheck } from '../probes.ts';
import { createApp } from '../webhook/app.ts';
import { type Attach, createAttachHandler } from '../webhook/attach-handler.ts';
import { createEnvoyHandler } from '../webhook/envoy-handler.ts';
import { createInjectHandler } from '../webhook/inject-handler.ts';
import { reportInjection } from '../webhook/injection-events.ts';
import type { KeyPair } from '../webhook/key-pair.ts';
import type { NewPodEvents } from '../webhook/new-pod-events.ts';
import { WebhookServer } from '../webhook/server.ts';
import { createTemplateHandler } from '../webhook/template-handler.ts';
import type { WebhookMetrics } from '../webhook/webhook-metrics.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { NamespaceLabels } from './namespace-labels.ts';
import type { TemplateDuty } from './template-duty.ts';

export interface WebhookDutyOptions {
  readonly options: ServeOptions;
  readonly template: TemplateDuty;
  readonly namespaces: NamespaceLabels;
  /** Attaches pods to Networks. */
  readonly attach: Attach;
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
  attach,
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
      '/attach': createAttachHandler({ attach, log }),
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

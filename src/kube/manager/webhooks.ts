import { createApp, type WebhookApp } from '../admission/handler.ts';
import type { KeyPair } from '../admission/key-pair.ts';
import type { ReviewHandler } from '../admission/response.ts';
import { WebhookServer } from '../admission/server.ts';
import type { WebhookMetrics } from '../admission/webhook-metrics.ts';
import type { Logger } from '../util/log.ts';
import type { Clock } from '../workqueue/clock.ts';

export interface WebhooksOptions {
  readonly port: number;
  /** Clients must have a certificate of the authorities that `setClientAuthorities` names. */
  readonly verifyClients?: boolean;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
}

/** The webhooks of a process, behind one HTTPS server. */
export class Webhooks {
  readonly #port: number;
  readonly #server: WebhookServer;
  readonly #routes: Record<string, ReviewHandler> = {};
  #listening = false;

  constructor({ port, verifyClients = false, clock, log, metrics }: WebhooksOptions) {
    let app: WebhookApp | undefined;
    this.#port = port;
    this.#server = new WebhookServer({
      app: (request, response, isLast) => {
        app ??= createApp({ routes: this.#routes, log, metrics, now: () => clock.now() });
        return app(request, response, isLast);
      },
      log,
      metrics,
      verifyClients,
    });
  }

  /** Adds a webhook. Call it before the server listens. */
  add(path: string, handler: ReviewHandler): void {
    this.#routes[path] = handler;
  }

  /** Sets the key pair. Without one, handshakes fail; a new one keeps open connections. */
  setKeyPair(pair: KeyPair): void {
    this.#server.setKeyPair(pair);
  }

  /** From now on, new connections need a certificate of one of these authorities (PEM). */
  setClientAuthorities(authorities: string): void {
    this.#server.setClientAuthorities(authorities);
  }

  readonly failure = (): string | undefined => (this.#listening ? undefined : 'not listening');

  /** Resolves with the port; rejects if it cannot listen. */
  async listen(): Promise<number> {
    const port = await this.#server.listen(this.#port);
    this.#listening = true;
    return port;
  }

  /** Asks callers to connect to another replica: see WebhookServer. */
  drain(): void {
    this.#server.drain();
  }

  /** Finishes in-flight calls within `graceMs`, then closes. */
  close(graceMs: number): Promise<void> {
    return this.#server.close(graceMs);
  }
}

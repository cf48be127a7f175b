import { EventEmitter, once } from 'node:events';
import type { Logger } from 'pino';
import { ManagedCertificates } from '../../../src/certificates/managed-certificates.ts';
import { ProvidedCertificates } from '../../../src/certificates/provided-certificates.ts';
import type { Lifetimes } from '../../../src/certificates/rotation.ts';
import { serverNames } from '../../../src/certificates/x509/signer.ts';
import { type KeyPair, WebhookServer } from '../../../src/kube/admission/server.ts';
import { SharedInformers } from '../../../src/kube/cache/shared-informers.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { NO_WEBHOOK_METRICS } from '../kube/no-metrics.ts';
import type { CertificateStage } from './certificate-stage.ts';

export interface WebhookReplicaOptions {
  readonly stage: CertificateStage;
  readonly log: Logger;
  readonly lifetimes?: Lifetimes;
  /** Asks callers to come by a new connection each time, so that each checks the certificate of the moment. */
  readonly freshConnections?: boolean;
  /** Its certificate and authorities are those of files; by default the operator keeps them. */
  readonly files?: KeyPair & { readonly authorities: string };
  /** How far its server is behind, in milliseconds, as on a slow machine. */
  readonly lagMs?: number;
}

/** One replica of an operator whose webhook admits everything: its server, and the certificates it keeps. */
export class WebhookReplica {
  /** All that it was handed, in order. */
  readonly keyPairs: KeyPair[] = [];
  readonly certificates: ManagedCertificates | ProvidedCertificates;
  /** Authorities that it has put in the place of others. */
  authorityRotations = 0;
  port = 0;
  readonly #options: WebhookReplicaOptions;
  readonly #changes = new EventEmitter();
  readonly #stop = new AbortController();
  readonly #informers: SharedInformers;
  #server: WebhookServer | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: WebhookReplicaOptions) {
    const { stage, log, lifetimes, files } = options;
    this.#options = options;
    this.#informers = new SharedInformers({
      client: stage.operator,
      clock: systemClock,
      onError: (resource) => (err, doing) => log.warn({ err, resource, doing }, 'informer'),
    });
    const common = {
      client: stage.operator,
      leaderClient: stage.operator,
      clock: systemClock,
      wallClock: Date.now,
      log,
      namespace: stage.name,
      configurationName: stage.name,
      informers: this.#informers,
    };
    if (files) {
      const certificates = new ProvidedCertificates({ ...common, holdMs: 0 });
      certificates.served(files);
      this.certificates = certificates;
      return;
    }
    this.certificates = new ManagedCertificates({
      ...common,
      names: serverNames({ service: 'operator', namespace: stage.name, webhookUrl: 'https://127.0.0.1' }),
      ...(lifetimes && { lifetimes }),
      onKeyPair: (pair) => this.#serve(pair),
      metrics: {
        expires() {},
        bundleInSync() {},
        rotated: (what) => {
          if (what === 'authority') this.authorityRotations += 1;
          this.#changes.emit('change');
        },
      },
    });
  }

  /** Runs its part, and the leader's where it is to lead; resolves when it serves. */
  async start({ leads = false } = {}): Promise<void> {
    const { signal } = this.#stop;
    this.#running = Promise.all([this.#informers.run(signal), this.certificates.run(signal)]);
    if (leads) this.lead();
    if (this.#options.files) this.#serve(this.#options.files);
    await this.until(() => this.#server !== undefined);
    const { freshConnections, log } = this.#options;
    this.port = (await this.#server?.listen(0, '127.0.0.1')) ?? 0;
    if (freshConnections) this.#server?.drain();
    log.info({ port: this.port }, 'replica serves');
  }

  /** Begins to lead; what it returns ends that, and resolves when it has. */
  lead(): () => Promise<void> {
    const term = new AbortController();
    const leading = this.certificates.lead(AbortSignal.any([term.signal, this.#stop.signal]));
    this.#running = Promise.all([this.#running, leading]);
    return () => {
      term.abort(new Error('the lease is lost'));
      return leading;
    };
  }

  /** Waits until something about it is so; looks whenever it was handed a key pair or has rotated. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await once(this.#changes, 'change');
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('the test is over'));
    await this.#running;
    await this.#server?.close(1_000);
  }

  #serve(pair: KeyPair): void {
    this.keyPairs.push(pair);
    const { log, lagMs } = this.#options;
    if (this.#server) {
      setTimeout((server) => server.setKeyPair(pair), lagMs, this.#server);
    } else {
      this.#server = new WebhookServer({ log, metrics: NO_WEBHOOK_METRICS });
      this.#server.add('/admit', async () => ({ allowed: true }));
      this.#server.setKeyPair(pair);
    }
    this.#changes.emit('change');
  }
}

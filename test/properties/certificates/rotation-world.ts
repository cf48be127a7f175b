import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import jsonpatch, { type Operation } from 'fast-json-patch';
import { pino } from 'pino';
import { CaBundle } from '../../../src/certificates/ca-bundle.ts';
import { certificateKeeper } from '../../../src/certificates/managed-certificates.ts';
import { type KeyMaterial, type Lifetimes, replacement } from '../../../src/certificates/rotation.ts';
import { pemOf } from '../../../src/certificates/x509/certificate.ts';
import { ApiError } from '../../../src/kube/api/api-error.ts';
import {
  MUTATING_WEBHOOK_CONFIGURATIONS,
  type WebhookConfiguration,
} from '../../../src/kube/api/core-resources.ts';
import type { Result } from '../../../src/kube/controller/controller.ts';
import { FakeSigner } from '../../support/certificates/fake-signer.ts';

/** A value and the time since which it holds. */
interface Version<T> {
  readonly since: number;
  readonly value: T;
}

const START = Date.parse('2026-01-01T00:00:00Z');

/** A Secret and a webhook configuration, with all versions, because every reader is behind. */
export class RotationWorld {
  now = START;
  /** How far the controllers' caches are behind. */
  cacheLagMs = 0;
  readonly signer = new FakeSigner();
  readonly lifetimes: Lifetimes;
  readonly #secrets: Version<KeyMaterial>[] = [];
  readonly #configurations: Version<WebhookConfiguration>[] = [];

  private constructor(lifetimes: Lifetimes) {
    this.lifetimes = lifetimes;
  }

  /** Creates a world whose API servers trust the first certificates. */
  static async create(lifetimes: Lifetimes): Promise<RotationWorld> {
    const world = new RotationWorld(lifetimes);
    const { signer, now } = world;
    const material = await replacement(undefined, { signer, lifetimes, now });
    world.#secrets.push({ since: now, value: material });
    world.#writeConfiguration(pemOf(material.bundle));
    world.now += lifetimes.settleMs;
    return world;
  }

  get material(): KeyMaterial {
    return last(this.#secrets).value;
  }

  /**
   * The leaves that a replica may serve and an API server may not trust, with what it trusts instead. Replicas and
   * API servers may be behind by `lag`.
   */
  refused(lag: { readonly replicaMs: number; readonly apiServerMs: number }): readonly string[] {
    const bundles = since(this.#configurations, this.now - lag.apiServerMs).map(authoritiesIn);
    return since(this.#secrets, this.now - lag.replicaMs).flatMap(({ leaf }) => {
      if (!leaf || leaf.notAfter <= this.now) return [];
      const issuer = this.signer.issuerOf.get(leaf.fingerprint) ?? 'none';
      return bundles
        .filter((bundle) => !bundle.includes(issuer))
        .map((bundle) => `${leaf.fingerprint} by ${issuer}, trusted: ${bundle}`);
    });
  }

  /** Adds a foreign authority to the caBundle, which a controller then removes. */
  meddle(): void {
    this.#writeConfiguration(`${caBundleOf(last(this.#configurations).value)}foreign\n`);
  }

  readSecret() {
    const content = { material: this.material, damage: [] };
    return { content, resourceVersion: String(this.#secrets.length) };
  }

  replaceSecret(material: KeyMaterial, resourceVersion: string | undefined): void {
    if (resourceVersion !== String(this.#secrets.length)) throw conflict();
    this.#secrets.push({ since: this.now, value: material });
  }

  cachedConfiguration(): WebhookConfiguration {
    const [cached = last(this.#configurations).value] = since(
      this.#configurations,
      this.now - this.cacheLagMs,
    );
    return cached;
  }

  patchConfiguration(operations: readonly Operation[]): void {
    const { value } = last(this.#configurations);
    for (const operation of operations) {
      const isPrecondition = operation.op === 'replace' && operation.path === '/metadata/resourceVersion';
      if (isPrecondition && operation.value !== value.metadata.resourceVersion) throw conflict();
    }
    const { newDocument } = jsonpatch.applyPatch(structuredClone(value), operations);
    this.#writeConfiguration(caBundleOf(newDocument));
  }

  #writeConfiguration(bundle: string): void {
    const caBundle = Buffer.from(bundle).toString('base64');
    const resourceVersion = String(this.#configurations.length + 1);
    const value = {
      metadata: { name: 'envoy-initializer', resourceVersion },
      webhooks: [{ name: 'envoy.initializer.kubernetes.io', clientConfig: { caBundle } }],
    };
    this.#configurations.push({ since: this.now, value });
  }
}

/**
 * A leader, or a process that believes to be the leader. The test decides when its requests and their responses
 * arrive. The test can kill it at any moment; a request on its way still arrives.
 */
export class SimulatedController {
  readonly #reconcile: (signal: AbortSignal) => Promise<Result>;
  readonly #abort = new AbortController();
  #message: (() => void) | undefined;
  #busy = false;

  constructor(world: RotationWorld) {
    const { signer, lifetimes } = world;
    const clock = { now: () => world.now, setTimer: () => ({ cancel() {} }) };
    const cached = () => world.cachedConfiguration();
    const bundle = new CaBundle({
      clock,
      wallClock: () => world.now,
      isRollingOut: async () => false,
      holdMs: 0,
      client: {
        jsonPatch: async (resource, _, operations) => {
          await this.#request(() => world.patchConfiguration(operations));
          return resource.decode(cached());
        },
      },
    });
    this.#reconcile = certificateKeeper({
      signer,
      lifetimes,
      wallClock: () => world.now,
      lastGood: () => undefined,
      log: pino({ level: 'silent' }),
      metrics: { expires() {}, bundleInSync() {}, rotated() {} },
      secret: {
        read: () => this.#request(() => world.readSecret()),
        replace: (...args) => this.#request(() => world.replaceSecret(args[0], args[1])),
      },
      trust: {
        observe: () => [{ resource: MUTATING_WEBHOOK_CONFIGURATIONS, configuration: cached() }],
        async distribute(seen, pem, signal) {
          return pem === undefined ? undefined : await bundle.distribute(seen, pem, signal);
        },
      },
    });
  }

  /** Whether a request or a response is on its way. */
  get isWaiting(): boolean {
    return this.#message !== undefined;
  }

  /** Starts a reconcile unless one is running. */
  async wake(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    const done = () => {
      this.#busy = false;
    };
    this.#reconcile(this.#abort.signal).then(done, done);
    await eventLoopTurn();
  }

  /** Delivers the request or response on its way, and runs what follows. */
  async move(): Promise<void> {
    const message = this.#message;
    this.#message = undefined;
    message?.();
    await eventLoopTurn();
  }

  kill(): void {
    this.#abort.abort();
  }

  async #request<T>(effect: () => T): Promise<T> {
    this.#abort.signal.throwIfAborted();
    await this.#onItsWay();
    try {
      return effect();
    } finally {
      await this.#onItsWay();
      this.#abort.signal.throwIfAborted();
    }
  }

  #onItsWay(): Promise<void> {
    return new Promise((resolve) => {
      this.#message = resolve;
    });
  }
}

function authoritiesIn(configuration: WebhookConfiguration): readonly string[] {
  return caBundleOf(configuration).trimEnd().split('\n');
}

function caBundleOf({ webhooks }: WebhookConfiguration): string {
  return Buffer.from(webhooks?.[0]?.clientConfig.caBundle ?? '', 'base64').toString();
}

/** All values that held at or after the moment. */
function since<T>(versions: readonly Version<T>[], moment: number): readonly T[] {
  const first = versions.findLastIndex((version) => version.since <= moment);
  return versions.slice(Math.max(0, first)).map(({ value }) => value);
}

function last<T>(versions: readonly Version<T>[]): Version<T> {
  const version = versions.at(-1);
  if (!version) throw new Error('there is none yet');
  return version;
}

function conflict(): ApiError {
  return new ApiError({ status: 409, reason: 'Conflict', message: 'the object has been modified' });
}

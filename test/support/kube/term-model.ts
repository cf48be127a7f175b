import { Readable } from 'node:stream';
import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { TransportError } from '../../../src/kube/api/api-error.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import type { TransportRequest, TransportResponse } from '../../../src/kube/client/transport.ts';
import { ELECTION_TIMING } from '../../../src/kube/leaderelection/leader-elector.ts';
import type { LeaseClient } from '../../../src/kube/leaderelection/lease.ts';
import { Manager } from '../../../src/kube/manager/manager.ts';
import { sleep } from '../../../src/kube/util/waits.ts';
import { FakeClock } from '../time/fake-clock.ts';
import { FakeLeases, unreachable } from './fake-leases.ts';

/**
 * How a replica's way to the API server fails.
 * - refuse: connections are refused.
 * - silence: requests are not answered; those that are still wanted arrive when the outage ends.
 * - connect: the connect hangs, and an aborted request settles only 10 s after it was made, as undici has it.
 */
export type OutageKind = 'refuse' | 'silence' | 'connect';

export interface Outage {
  readonly replica: number;
  readonly kind: OutageKind;
  readonly fromMs: number;
  readonly forMs: number;
}

/** A change that a reconcile of `workMs` answers with one write. A deaf one ignores its signal until it writes. */
export interface Change {
  readonly atMs: number;
  readonly workMs: number;
  readonly isDeaf: boolean;
}

export interface Schedule {
  /** Of the elections' jitter. */
  readonly seed: number;
  readonly outages: readonly Outage[];
  readonly changes: readonly Change[];
}

const REPLICAS = [0, 1] as const;
const CONNECT_TIMEOUT_MS = 10_000;
const LATENCY_MS = 20;
const STEP_MS = 500;
/** Each replica records Events, whether it leads or not. */
const EVENTS = '/apis/events.k8s.io/';
/** After the last outage: a step of the lease that is given up, a retry period, and the longest work of a term. */
const SETTLING_MS = 60_000;

function identityOf(replica: number): string {
  return `replica-${replica}`;
}

/** Two replicas, each a Manager, on a time and a network of the test's own. */
export class TermModel {
  readonly violations: string[] = [];
  /** Keys that a write has reached the server for, since they were changed last. */
  readonly #settled = new Set<string>();
  readonly #changed: string[] = [];
  readonly #clock = new FakeClock();
  readonly #leases = new FakeLeases();
  readonly #schedule: Schedule;
  readonly #works = new Map<string, Change>();
  #state: number;
  /** When the renewal that the server took last was asked for, by replica. */
  readonly #renewedAt = new Map<number, number>();

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
    this.#state = schedule.seed;
  }

  /** Plays the schedule; what was violated is in {@link violations}. */
  async run(): Promise<void> {
    const stop = new AbortController();
    const replicas = REPLICAS.map((replica) => this.#start(replica, stop.signal));
    const changes = this.#schedule.changes.toSorted((a, b) => a.atMs - b.atMs);
    for (const [index, change] of changes.entries()) {
      await this.#until(change.atMs);
      this.#change(replicas, `key-${index}`, change);
    }
    await this.#until(Math.max(0, ...this.#schedule.outages.map(({ fromMs, forMs }) => fromMs + forMs)));
    await this.#until(this.#clock.now() + SETTLING_MS);
    this.#change(replicas, 'key-last', { atMs: 0, workMs: 0, isDeaf: false });
    await this.#until(this.#clock.now() + SETTLING_MS);
    for (const key of this.#changed) {
      if (!this.#settled.has(key)) this.violations.push(`${key} was never reconciled by a leader`);
    }
    stop.abort();
    await this.#until(this.#clock.now() + SETTLING_MS);
    await Promise.all(replicas.map(({ ended }) => ended));
    if (this.#clock.pendingTimers > 0) this.violations.push(`${this.#clock.pendingTimers} timers are left`);
  }

  #start(replica: number, stop: AbortSignal) {
    const clock = this.#clock;
    const transport = { send: (request: TransportRequest) => this.#send(replica, request) };
    const manager = new Manager({
      name: 'operator',
      identity: identityOf(replica),
      api: {
        client: new KubeClient({ transport, clock }),
        leaseClient: this.#leaseClient(replica),
        guarded: (guard) => new KubeClient({ transport, clock, guard }),
        async close() {},
      },
      clock,
      wallClock: () => new Date(this.#clock.now()),
      random: () => this.#random(),
      log: pino({ enabled: false }),
      registry: new Registry(),
      leaderElection: { namespace: 'system' },
    });
    const work = manager.controller('model', 2);
    const reconcile = async (key: string, signal: AbortSignal) => {
      const { workMs, isDeaf } = this.#works.get(key) ?? { workMs: 0, isDeaf: false };
      await sleep(clock, workMs, isDeaf ? undefined : signal);
      await manager.leaderClient.request('PATCH', `/${key}`, { signal });
      return {};
    };
    work.reconcile(reconcile, { keys: () => this.#changed });
    return { queue: work.queue, ended: manager.run(stop) };
  }

  #change(
    replicas: readonly { readonly queue: { add(key: string): void } }[],
    key: string,
    change: Change,
  ): void {
    this.#works.set(key, change);
    this.#changed.push(key);
    for (const { queue } of replicas) queue.add(key);
  }

  /** Uniform in [0, 1): a linear congruential generator (Numerical Recipes), so that a schedule replays. */
  #random(): number {
    this.#state = (this.#state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return this.#state / 2 ** 32;
  }

  async #until(timeMs: number): Promise<void> {
    while (this.#clock.now() < timeMs) {
      await this.#clock.advanceAsync(Math.min(STEP_MS, timeMs - this.#clock.now()));
      for (let turn = 0; turn < 3; turn++) await eventLoopTurn();
    }
  }

  #outageOf(replica: number): Outage | undefined {
    const now = this.#clock.now();
    return this.#schedule.outages.find(
      (outage) => outage.replica === replica && outage.fromMs <= now && now < outage.fromMs + outage.forMs,
    );
  }

  /** Resolves when the request has reached the server. */
  async #reach(replica: number, signal: AbortSignal | undefined): Promise<void> {
    const outage = this.#outageOf(replica);
    if (!outage) return await sleep(this.#clock, LATENCY_MS, signal);
    const { kind, fromMs, forMs } = outage;
    if (kind === 'refuse') return await unreachable();
    if (kind === 'silence') return await sleep(this.#clock, fromMs + forMs - this.#clock.now(), signal);
    await sleep(this.#clock, CONNECT_TIMEOUT_MS);
    throw new TransportError('connect timeout', 'UND_ERR_CONNECT_TIMEOUT', undefined);
  }

  #leaseClient(replica: number): LeaseClient {
    const client = this.#leases.client();
    const renewed = async <T>(askedAt: number, written: Promise<T>): Promise<T> => {
      const result = await written;
      this.#renewedAt.set(replica, askedAt);
      return result;
    };
    return {
      get: async (resource, ref, options) => {
        await this.#reach(replica, options?.signal);
        return client.get(resource, ref, options);
      },
      create: async (resource, object, options) => {
        const askedAt = this.#clock.now();
        await this.#reach(replica, options?.signal);
        return renewed(askedAt, client.create(resource, object, options));
      },
      mergePatch: async (resource, ref, patch, options) => {
        const askedAt = this.#clock.now();
        await this.#reach(replica, options?.signal);
        return renewed(askedAt, client.mergePatch(resource, ref, patch, options));
      },
    };
  }

  async #send(replica: number, { path, signal }: TransportRequest): Promise<TransportResponse> {
    await this.#reach(replica, signal);
    if (!path.startsWith(EVENTS)) this.#written(replica, path.slice(1));
    const body = Object.assign(Readable.from([Buffer.from('{}')]), { text: async () => '{}' });
    return { statusCode: 200, headers: {}, body };
  }

  #written(replica: number, key: string): void {
    const now = this.#clock.now();
    const sinceRenewal = now - (this.#renewedAt.get(replica) ?? Number.NEGATIVE_INFINITY);
    const holder = this.#leases.spec.holderIdentity;
    if (sinceRenewal > ELECTION_TIMING.renewDeadlineMs) {
      this.violations.push(`replica ${replica} wrote ${key} ${sinceRenewal} ms after its last renewal`);
    }
    if (!holder?.startsWith(`${identityOf(replica)}_`))
      this.violations.push(`replica ${replica} wrote ${key} while ${holder} led`);
    this.#settled.add(key);
  }
}

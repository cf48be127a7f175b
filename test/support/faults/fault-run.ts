import { getEventListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { isAlreadyExists, isNotFound } from '../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { Informer } from '../../../src/kube/cache/informer.ts';
import { Reflector } from '../../../src/kube/cache/reflector.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { type ConfigMap, configMaps } from '../kube/scripted-objects.ts';
import { CountingClock } from '../time/counting-clock.ts';
import type { FaultLab } from './fault-lab.ts';
import type { FaultProxy } from './fault-proxy.ts';
import type { Scenario, Step } from './fault-scenario.ts';
import { FoldingHandler } from './folding-handler.ts';
import { relistViolations, type WatchFailure } from './relist-rules.ts';

const LABEL = 'fault-suite';
const SELECTOR = `${LABEL}=yes`;
/** By then everything has long been mended: the longest wait within is that for a list, a second. */
const PATIENCE_MS = 30_000;

/**
 * One informer behind a fault proxy, while a writer works past the proxy. Throws an Error that tells all when the
 * informer does not end with what the server has, when a handler was told what is not so, or when something is left.
 */
export class FaultRun {
  readonly #lab: FaultLab;
  readonly #scenario: Scenario;
  readonly #namespace: string;
  readonly #proxy: FaultProxy;
  readonly #transport: Transport;
  readonly #clock = new CountingClock();
  readonly #stop = new AbortController();
  readonly #informer: Informer<ConfigMap>;
  readonly #reflector: Reflector;
  readonly #errors: string[] = [];
  readonly #watchFailures: WatchFailure[] = [];
  readonly #handlers: FoldingHandler<ConfigMap>[] = [];
  #writes = 0;

  private constructor(lab: FaultLab, scenario: Scenario, namespace: string, proxy: FaultProxy) {
    this.#lab = lab;
    this.#scenario = scenario;
    this.#namespace = namespace;
    this.#proxy = proxy;
    this.#transport = new Transport(proxy.kubeConfig, this.#clock);
    const common = {
      resource: configMaps,
      clock: this.#clock,
      onError: (error: unknown, doing: string) => {
        this.#errors.push(`${doing}: ${error}`);
        if (doing === 'watch') this.#watchFailures.push({ error, after: proxy.requests.length });
      },
    };
    const indexers = { byWrite: (object: ConfigMap) => [object.data?.write ?? ''] };
    this.#informer = new Informer<ConfigMap>({ ...common, indexers });
    const options = {
      ...common,
      client: new KubeClient({ transport: this.#transport, clock: this.#clock }),
      namespace,
      labelSelector: SELECTOR,
      ...(scenario.pageSize && { pageSize: scenario.pageSize }),
      backoff: { firstMs: 5, maxMs: 40 },
      stallMs: 500,
      listTimeoutMs: 1_000,
    };
    this.#reflector = new Reflector(options, [this.#informer]);
  }

  /** Resolves with the faults that have struck. */
  static async of(scenario: Scenario, lab: FaultLab): Promise<readonly string[]> {
    const namespace = await lab.namespace();
    const run = new FaultRun(lab, scenario, namespace, await lab.proxy(scenario.faults));
    try {
      await run.#play();
      return run.#proxy.met.map(({ kind }) => kind);
    } finally {
      run.#stop.abort();
      await run.#transport.close();
      await run.#proxy.close();
    }
  }

  async #play(): Promise<void> {
    this.#join({});
    this.#join({ throwsEvery: 3 });
    // What is there before the first list, made in the reverse of the order in which it is sent: half of a state has
    // then the newest resourceVersion. object-6 is never written again, so nothing brings it back where it was lost.
    for (const which of [6, 2, 1, 0]) await this.#take({ action: 'create', which, pauseMs: 0 });
    const { signal } = this.#stop;
    const running = Promise.all([this.#reflector.run(signal), this.#informer.run(signal)]);
    for (const step of this.#scenario.steps) await this.#take(step);
    if (!this.#scenario.stopsMidway) {
      await this.#meetAllFaults();
      await this.#converged();
      // Not only right, but alive. Two changes: one that is lost comes again, unless another has come after it.
      for (const which of [99, 98]) await this.#take({ action: 'create', which, pauseMs: 0 });
      await this.#converged();
      await this.#deletedUnseen();
      this.#check(
        getEventListeners(this.#stop.signal, 'abort').length <= 3,
        'listeners gather on the signal',
      );
    }
    await this.#stopped(running);
    this.#toldTheTruth();
    const violations = relistViolations(this.#proxy.requests, this.#watchFailures);
    this.#check(violations.length === 0, violations.join('; '));
  }

  /**
   * A watch in good health is cut, so that the next one meets the next fault; one that a fault has spoilt is left to
   * it. Meanwhile the steps are taken again: what is written while nobody watches is what can be missed.
   */
  async #meetAllFaults(): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    for (let i = 0; this.#proxy.pendingFaults > 0; i++) {
      this.#check(Date.now() < deadline, 'no request comes to meet the remaining faults');
      if (this.#proxy.afflicted === 0) this.#proxy.cutHealthyWatches();
      const step = this.#scenario.steps[i % this.#scenario.steps.length];
      if (step) await this.#take({ ...step, pauseMs: 20 });
    }
  }

  /** Waits until the cache is what the server has, and each handler's view what the cache is. */
  async #converged(): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const fresh = await this.#lab.client.list(configMaps, {
        namespace: this.#namespace,
        labelSelector: SELECTOR,
      });
      const differences = this.#differences(fresh.items.map((item) => configMaps.decode(item)));
      if (differences.length === 0) break;
      if (Date.now() > deadline) throw this.#failure(`did not converge: ${differences.join('; ')}`);
      await pause(20);
    }
    this.#toldTheTruth();
  }

  /** What is deleted while nobody watches, by a server that then remembers nothing of it, goes with the next list. */
  async #deletedUnseen(): Promise<void> {
    const comeBack = await this.#proxy.outage('refuse');
    await this.#take({ action: 'delete', which: 6, pauseMs: 0 });
    this.#proxy.schedule({ kind: 'status', code: 410 });
    await comeBack();
    await this.#converged();
  }

  #toldTheTruth(): void {
    for (const handler of this.#handlers) {
      this.#check(handler.violations.length === 0, handler.violations.join('; '));
    }
  }

  #differences(fresh: readonly ConfigMap[]): string[] {
    const { lister } = this.#informer;
    const views = this.#handlers.map(({ view }) => view);
    const states: [string, readonly ConfigMap[]][] = [
      ['the cache', lister.list()],
      [
        'the index',
        Array.from({ length: this.#writes + 1 }, (_, i) => lister.byIndex('byWrite', `${i}`)).flat(),
      ],
      ...views.map((view, i): [string, ConfigMap[]] => [`the view of handler ${i}`, [...view.values()]]),
    ];
    const want = summary(fresh);
    const different = states.filter(([, objects]) => summary(objects) !== want);
    return [
      ...different.map(([what, objects]) => `${what} has ${summary(objects)}, the server ${want}`),
      ...(this.#informer.hasSynced() ? [] : ['the informer has not synced']),
    ];
  }

  async #stopped(running: Promise<unknown>): Promise<void> {
    this.#stop.abort();
    const told = this.#handlers.map(({ events }) => events);
    await running;
    this.#check(this.#clock.pendingTimers === 0, `${this.#clock.pendingTimers} timers are left`);
    this.#check(
      getEventListeners(this.#stop.signal, 'abort').length === 0,
      'listeners are left on the signal',
    );
    await this.#take({ action: 'recreate', which: 97, pauseMs: 0 });
    await this.#transport.close();
    const deadline = Date.now() + PATIENCE_MS;
    while (this.#proxy.openConnections > 0) {
      this.#check(Date.now() < deadline, `${this.#proxy.openConnections} connections are left`);
      await pause(5);
    }
    this.#check(
      this.#handlers.every(({ events }, i) => events === told[i]),
      'a handler was told of something after the stop',
    );
  }

  async #take({ action, which, pauseMs }: Step): Promise<void> {
    switch (action) {
      case 'join':
        this.#join({});
        break;
      case 'cut':
        this.#proxy.cutHealthyWatches();
        break;
      default:
        await this.#write(action, `object-${which}`);
    }
    await pause(pauseMs);
  }

  #join(options: { readonly throwsEvery?: number }): void {
    const handler = new FoldingHandler<ConfigMap>(options);
    this.#handlers.push(handler);
    this.#informer.addEventHandler(handler, { resyncMs: 1000 });
  }

  async #write(
    action: 'create' | 'update' | 'delete' | 'recreate' | 'unselect',
    name: string,
  ): Promise<void> {
    const { client } = this.#lab;
    const ref = { namespace: this.#namespace, name };
    const data = { write: `${++this.#writes}` };
    const labels = { [LABEL]: 'yes' };
    try {
      if (action === 'delete' || action === 'recreate') await client.delete(configMaps, ref);
      if (action === 'create' || action === 'recreate') {
        await client.create(configMaps, { metadata: { ...ref, labels }, data } as KubeObject);
      }
      if (action === 'update') await client.mergePatch(configMaps, ref, { metadata: { labels }, data });
      if (action === 'unselect')
        await client.mergePatch(configMaps, ref, { metadata: { labels: { [LABEL]: null } } });
    } catch (error) {
      if (!isNotFound(error) && !isAlreadyExists(error)) throw error;
      // Not there, or there already: the next step will do something. A recreate of nothing is a create.
      if (action === 'recreate' && isNotFound(error)) await this.#write('create', name);
    }
  }

  #check(holds: boolean, otherwise: string): void {
    if (!holds) throw this.#failure(otherwise);
  }

  #failure(what: string): Error {
    const requests = this.#proxy.requests
      .slice(-40)
      .map(({ method, url, fault }) => `${method} ${url} met ${JSON.stringify(fault)}`)
      .join('\n  ');
    return new Error(`${what}\nrequests:\n  ${requests}\nerrors:\n  ${this.#errors.slice(-40).join('\n  ')}`);
  }
}

function summary(objects: readonly ConfigMap[]): string {
  return objects
    .map(
      ({ metadata, data }) =>
        `${metadata.name}@${metadata.resourceVersion}#${data?.write}/${metadata.uid?.slice(0, 4)}`,
    )
    .sort()
    .join(' ');
}

import { neutronCheck } from '../../../src/addons/neutron/garbage-collector.ts';
import { NeutronProvider } from '../../../src/addons/neutron/neutron.ts';
import { NeutronStore } from '../../../src/addons/neutron/store.ts';
import type { KubeObject, ObjectKey } from '../../../src/kube/api/object.ts';
import type { Resource } from '../../../src/kube/api/resource.ts';
import { MutationCache } from '../../../src/kube/cache/mutation-cache.ts';
import type { Reconcile } from '../../../src/kube/controller/controller.ts';
import { NETWORKS } from '../../../src/networks/api/resources.ts';
import type { Network, NetworkSpec } from '../../../src/networks/api/types.ts';
import { NetworkWriter, type NetworkWriterOptions } from '../../../src/networks/controller/network-writer.ts';
import { ProviderRegistry } from '../../../src/networks/controller/provider-registry.ts';
import { networkReconcile } from '../../../src/networks/controller/reconcile.ts';
import { SpecAcceptance } from '../../../src/networks/controller/spec-acceptance.ts';
import { networkOwner } from '../../../src/networks/multus/attachment.ts';
import { multusProvider } from '../../../src/networks/multus/multus.ts';
import { type KnownNode, nodesInUse } from '../../../src/networks/nodes/nodes-in-use.ts';
import { capturedLog } from '../kube/captured-log.ts';
import { FakeNeutron, WITHOUT_PODS } from '../neutron/fake-neutron.ts';
import { FakeClock } from '../time/fake-clock.ts';
import { FakeAttachments, FakeObjects } from './fake-attachments.ts';

const { signal } = new AbortController();

/** A call that did not come to its end as seen from here; `done` says whether it did over there. */
export interface Mishap {
  /** Of which of the calls from now on, from 0. */
  readonly nth: number;
  readonly done: boolean;
  /** The process dies of it; else the call fails. */
  readonly dies: boolean;
}

interface Operator {
  readonly reconcile: Reconcile;
  readonly acceptance: SpecAcceptance;
  readonly checkNeutron: ReturnType<typeof neutronCheck>;
}

/** One Network in a cluster and both its backends, all in memory; and an operator that can be made to fail or die at any call. */
export class NetworkModel {
  readonly key: ObjectKey = 'default/a';
  readonly attachments = new FakeAttachments();
  readonly neutron = new FakeNeutron();
  /** Live pods that are attached. */
  pods: readonly ObjectKey[] = [];
  /** The nodes on which they run. */
  nodesOfPods: readonly string[] = [];
  /** What is known of the nodes; undefined without node agents. */
  known: ReadonlyMap<string, KnownNode> | undefined;
  /** What the Events said, as `REASON: NOTE`. */
  readonly events: string[] = [];
  /** The Network while its range changes. */
  readonly changing = new Set<ObjectKey>();
  /** What happens before the next call. */
  meanwhile: (() => Promise<void>) | undefined;
  readonly #clock = new FakeClock();
  readonly #networks = new FakeObjects<Network>();
  #uids = 0;
  #mishap: Mishap | undefined;
  #calls = 0;
  #isDead = false;
  #operator: Operator;

  constructor() {
    this.neutron.through = (call) => this.#through(async () => call());
    this.#operator = this.#newOperator();
  }

  /** Of the process that runs. */
  get acceptance(): SpecAcceptance {
    return this.#operator.acceptance;
  }

  get network(): Network | undefined {
    return this.#networks.live.get(this.key);
  }

  create(spec: NetworkSpec): void {
    if (this.network) return;
    const metadata = { namespace: 'default', name: 'a', uid: `uid-${++this.#uids}`, generation: 1 };
    this.#networks.store({ metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' }, spec });
  }

  /** As by a merge patch: null removes a field. */
  edit(spec: Partial<NetworkSpec>): void {
    const network = this.network;
    if (!network || network.metadata.deletionTimestamp) return;
    const generation = (network.metadata.generation ?? 0) + 1;
    const { provider } = network.spec;
    const fields = Object.entries({ ...network.spec, ...spec, ...(provider && { provider }) });
    const next = Object.fromEntries(fields.filter(([, value]) => value !== null)) as unknown as NetworkSpec;
    this.#networks.store({ ...network, metadata: { ...network.metadata, generation }, spec: next });
  }

  delete(): void {
    if (!this.network) return;
    const metadata = { ...this.network.metadata, deletionTimestamp: '2026-01-01T00:00:01Z' };
    this.#networks.store({ ...this.network, metadata });
  }

  /** By hand, and whatever the operator still has to do. */
  dropFinalizers(): void {
    if (!this.network) return;
    this.#networks.store({ ...this.network, metadata: { ...this.network.metadata, finalizers: [] } });
  }

  /** Somebody deletes the real networks. */
  wreck(): void {
    this.attachments.live.clear();
    this.neutron.networks.clear();
    this.neutron.subnets.clear();
  }

  /** One reconcile, and a look at what was left behind, with the mishap on the way. Returns what it failed with. */
  async reconcile(mishap?: Mishap): Promise<unknown> {
    this.#mishap = mishap;
    this.#calls = 0;
    this.#isDead = false;
    this.attachments.sync();
    try {
      await this.#operator.reconcile(this.key, signal);
      await this.#operator.checkNeutron(signal);
      return undefined;
    } catch (error) {
      // Retried by the next one.
      return error;
    } finally {
      this.#mishap = undefined;
      if (this.#isDead) this.#operator = this.#newOperator();
      this.#clock.advance(60_000);
      this.#collectGarbage();
    }
  }

  /** The shapes of the real networks, in whatever backend: `CIDR GATEWAY`. */
  real(): readonly string[] {
    const { networks, subnets } = this.neutron;
    // A definition has no range: node agents take it from the status.
    const inMultus = [...this.attachments.live.values()].map(() => {
      const { cidr, gateway } = this.network?.status ?? {};
      return `${cidr} ${gateway}`;
    });
    const inNeutron = [...networks.keys()].map((id) => {
      const own = [...subnets.values()].filter(({ networkId }) => networkId === id);
      return own.map(({ cidr, gateway }) => `${cidr} ${gateway}`).join(' and ');
    });
    return [...inMultus, ...inNeutron];
  }

  /** A new process of the operator, which knows nothing. */
  #newOperator(): Operator {
    const { attachments } = this;
    const api = () => this.neutron.api;
    const client = this.#client();
    const lister = { get: (key: ObjectKey) => (key === this.key ? this.network : undefined) };
    const store = new NeutronStore({ api, clock: this.#clock });
    const clusterId = async () => 'cluster';
    const provider = new NeutronProvider({ ...WITHOUT_PODS, api, store, clusterId });
    const multus = multusProvider({
      ...attachments,
      client,
      usageOf: (network) => ({
        pods: this.pods,
        nodes: nodesInUse(network, this.nodesOfPods, this.known && ((name) => this.#knownNode(name))),
      }),
    });
    const providers = new ProviderRegistry('multus', [multus, provider]);
    const copies = new MutationCache<Network>(lister);
    const writer = new NetworkWriter({
      client,
      copies,
      events: { event: (_, { reason, note }) => this.events.push(`${reason}: ${note}`) },
      now: () => new Date(0),
      clock: this.#clock,
    });
    const acceptance = new SpecAcceptance(providers, () => {});
    const reconcile = networkReconcile({ copies, providers, acceptance, writer, changing: this.changing });
    const checkNeutron = neutronCheck({
      client,
      store,
      provider,
      clusterId,
      known: lister.get,
      metrics: { available: () => {} },
      log: capturedLog().log,
    });
    return { reconcile, acceptance, checkNeutron };
  }

  /** Requests to the API server. */
  #client(): NetworkWriterOptions['client'] & FakeAttachments['client'] {
    const of = ({ plural }: Pick<Resource<KubeObject>, 'plural'>) =>
      plural === NETWORKS.plural ? this.#networks.client : this.attachments.client;
    return {
      get: (resource, ...rest) => this.#through(() => of(resource).get(resource, ...rest)),
      create: (resource, ...rest) => this.#through(() => of(resource).create(resource, ...rest)),
      delete: (resource, ...rest) => this.#through(() => of(resource).delete(resource, ...rest)),
      jsonPatch: (resource, ...rest) => this.#through(() => of(resource).jsonPatch(resource, ...rest)),
      mergePatch: (resource, ...rest) => this.#through(() => of(resource).mergePatch(resource, ...rest)),
      apply: (resource, ...rest) => this.#through(() => of(resource).apply(resource, ...rest)),
    };
  }

  #knownNode(name: string): KnownNode {
    return this.known?.get(name) ?? {};
  }

  /** What the garbage collector does once an owner is gone. */
  #collectGarbage(): void {
    for (const attachment of this.attachments.live.values()) {
      const owner = networkOwner(attachment);
      if (!owner || owner.uid === this.network?.metadata.uid) continue;
      const metadata = { ...attachment.metadata, deletionTimestamp: '2026-01-01T00:00:02Z' };
      this.attachments.store({ ...attachment, metadata });
    }
  }

  async #through<R>(call: () => Promise<R>): Promise<R> {
    if (this.#isDead) throw new Error('the process is dead');
    const { meanwhile } = this;
    this.meanwhile = undefined;
    await meanwhile?.();
    const mishap = this.#calls++ === this.#mishap?.nth ? this.#mishap : undefined;
    if (!mishap) return call();
    this.#isDead = mishap.dies;
    if (mishap.done) await call();
    throw new Error(mishap.dies ? 'the process is dead' : 'the call failed');
  }
}

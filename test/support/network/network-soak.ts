import { setTimeout as pause } from 'node:timers/promises';
import { isAlreadyExists, isConflict, isInvalid, isNotFound } from '../../../src/kube/api/api-error.ts';
import { type KubeObject, keyOf } from '../../../src/kube/api/object.ts';
import { apiVersionOf, type Resource } from '../../../src/kube/api/resource.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { conditionOf } from '../../../src/networks/api/conditions.ts';
import {
  NETWORK_ATTACHMENT_DEFINITIONS,
  NETWORKS,
  type NetworkAttachmentDefinition,
} from '../../../src/networks/api/resources.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import { cniConfig } from '../../../src/networks/multus/cni-config.ts';
import { randomNumbers, type SoakNetwork, soakNetwork, soakSpec } from './soak-world.ts';

/** The machine is shared with others. */
const PAUSE_MS = 5;
const USERS = 6;

/** Users that create, change and delete Networks at random, and what has to be true of them when all is quiet. */
export class NetworkSoak {
  readonly #client: KubeClient;
  readonly #networks: readonly SoakNetwork[];
  readonly #random: () => number;
  /** Specs that the API server has refused, as it should. */
  refused = 0;

  constructor(client: KubeClient, count: number, seed: number) {
    this.#client = client;
    this.#networks = Array.from({ length: count }, (_, number) => soakNetwork(number));
    this.#random = randomNumbers(seed);
  }

  /** Makes the attachments of somebody else. */
  async prepare(): Promise<void> {
    for (const { kind, ...metadata } of this.#networks) {
      if (kind !== 'conflicting') continue;
      const { namespace, name } = metadata;
      const type = typeOf(NETWORK_ATTACHMENT_DEFINITIONS);
      const foreign = { ...type, metadata: { namespace, name }, spec: { config: '{"theirs":true}' } };
      await this.#client.create(NETWORK_ATTACHMENT_DEFINITIONS, foreign);
    }
  }

  /** Goes on until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: USERS }, () => this.#use(signal)));
  }

  /** Creates all that are not there. */
  async createAll(): Promise<void> {
    await this.#forAll((network) => this.#create(network, 0));
  }

  async deleteAll(): Promise<void> {
    await this.#forAll((network) => this.#delete(network));
  }

  /** The Networks that are there. */
  async names(): Promise<readonly string[]> {
    return [...(await this.#list(NETWORKS)).keys()];
  }

  /** What is not yet as it has to be, a sentence each; none when all has converged. */
  async faults(): Promise<readonly string[]> {
    const networks = await this.#list(NETWORKS);
    const attachments = await this.#list(NETWORK_ATTACHMENT_DEFINITIONS);
    const known = new Map(this.#networks.map((network) => [`${network.namespace}/${network.name}`, network]));
    const faults: string[] = [];
    const readyOf = new Map<number, string>();
    for (const [key, network] of networks) {
      const soak = known.get(key);
      if (!soak) continue;
      const ready = conditionOf(network.status?.conditions, 'Ready');
      const isReady = ready?.status === 'True';
      if (ready?.observedGeneration !== network.metadata.generation) faults.push(`${key} is not judged`);
      if (network.metadata.deletionTimestamp) faults.push(`${key} does not go`);
      if (isReady && readyOf.has(soak.block)) faults.push(`${key} meets ${readyOf.get(soak.block)}`);
      if (isReady) readyOf.set(soak.block, key);
      const reason = `${ready?.reason}`;
      if (!this.#expectedReasons(soak).includes(reason)) faults.push(`${key} is ${reason}`);
      const fault = attachmentFault(network, soak, isReady, attachments.get(key));
      if (fault) faults.push(`${key} ${fault}`);
    }
    for (const [key, network] of networks) {
      const soak = known.get(key);
      const reason = conditionOf(network.status?.conditions, 'Ready')?.reason;
      if (soak && reason === 'Overlap' && !readyOf.has(soak.block)) faults.push(`${key} waits for nobody`);
    }
    for (const [key, { metadata }] of attachments) {
      const owners = metadata.ownerReferences ?? [];
      const isOrphan = owners.some(({ uid }) => networks.get(key)?.metadata.uid !== uid);
      if (isOrphan || (owners.length === 0 && known.get(key)?.kind !== 'conflicting')) {
        faults.push(`attachment ${key} is orphaned`);
      }
    }
    return faults;
  }

  async #use(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const network = this.#networks[Math.floor(this.#random() * this.#networks.length)];
      if (!network) return;
      const chance = this.#random();
      if (chance < 0.1) await this.#createFaulty(network);
      else if (chance < 0.55) await this.#create(network, chance < 0.3 ? 0 : 1);
      else if (chance < 0.75) await this.#edit(network, chance < 0.65 ? 0 : 1);
      else await this.#delete(network);
      await pause(PAUSE_MS);
    }
  }

  async #create(network: SoakNetwork, version: 0 | 1): Promise<void> {
    const { namespace, name } = network;
    const object = { ...typeOf(NETWORKS), metadata: { namespace, name }, spec: soakSpec(network, version) };
    await this.#tried(this.#client.create(NETWORKS, object));
  }

  /** With a range that the CRD's rules refuse. */
  async #createFaulty(network: SoakNetwork): Promise<void> {
    const { namespace, name } = network;
    const spec = { ...soakSpec(network, 0), cidr: `10.0.0.${1 + Math.floor(this.#random() * 250)}/8` };
    const object = { ...typeOf(NETWORKS), metadata: { namespace, name }, spec };
    await this.#tried(this.#client.create(NETWORKS, object));
  }

  async #edit(network: SoakNetwork, version: 0 | 1): Promise<void> {
    const { gateway, mtu } = soakSpec(network, version);
    await this.#tried(this.#client.mergePatch(NETWORKS, refOf(network), { spec: { gateway, mtu } }));
  }

  async #delete(network: SoakNetwork): Promise<void> {
    await this.#tried(this.#client.delete(NETWORKS, refOf(network), { propagationPolicy: 'Background' }));
  }

  /** Users do not look first whether what they do can be done. */
  async #tried(request: Promise<unknown>): Promise<void> {
    try {
      await request;
    } catch (error) {
      if (isInvalid(error)) this.refused += 1;
      else if (!isNotFound(error) && !isAlreadyExists(error) && !isConflict(error)) throw error;
    }
  }

  #expectedReasons({ kind }: SoakNetwork): readonly string[] {
    if (kind === 'unattainable') return ['ProviderUnavailable'];
    if (kind === 'conflicting') return ['NameConflict'];
    // One that overlaps, and the one that it overlaps: whoever came first has the range.
    return ['Ready', 'Overlap'];
  }

  async #forAll(act: (network: SoakNetwork) => Promise<void>): Promise<void> {
    const rest = [...this.#networks];
    const work = async () => {
      for (let network = rest.pop(); network; network = rest.pop()) await act(network);
    };
    await Promise.all(Array.from({ length: USERS }, work));
  }

  async #list<T extends KubeObject>(resource: Resource<T>): Promise<ReadonlyMap<string, T>> {
    const { items } = await this.#client.list(resource, {});
    return new Map(items.map((item) => resource.decode(item)).map((object) => [keyOf(object), object]));
  }
}

function attachmentFault(
  network: Network,
  { kind }: SoakNetwork,
  isThere: boolean,
  found: NetworkAttachmentDefinition | undefined,
): string | undefined {
  if (kind === 'conflicting') {
    return found?.spec?.config === '{"theirs":true}' ? undefined : 'has taken what was somebody else’s';
  }
  if (!isThere) return found ? 'has an attachment' : undefined;
  if (!found) return 'has no attachment';
  const { cidr, gateway, mtu } = network.spec;
  if (network.status?.cidr !== cidr || network.status.gateway !== gateway) return 'has another range';
  return found.spec?.config === cniConfig(keyOf(network), mtu) ? undefined : 'is not what it says';
}

function refOf({ namespace, name }: SoakNetwork): { readonly namespace: string; readonly name: string } {
  return { namespace, name };
}

function typeOf(resource: Resource<KubeObject>): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind };
}

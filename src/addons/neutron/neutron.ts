import { keyOf } from '../../kube/api/object.ts';
import { rangesOf, recordedSubnet, type Subnet, sameSubnet, subnetOf } from '../../networks/api/subnet.ts';
import type { Network } from '../../networks/api/types.ts';
import { attachmentWith } from '../../networks/multus/attachment.ts';
import type {
  Definitions,
  Ensured,
  NotReady,
  PodPorts,
  Provider,
  Realised,
  Removal,
  SpecError,
  Usage,
} from '../../networks/providers.ts';
import { parseRange } from '../../networks/ranges/cidr.ts';
import type { NeutronApi } from './client.ts';
import type { Owner } from './marker.ts';
import { isGone, isInUse, isStaleRevision, isUnavailable, NotConfiguredError } from './openstack/error.ts';
import { type Action, actionsFor, deletionOf, disownmentOf, keptOf, shapeOfFound } from './plan.ts';
import { ovsConfig } from './pods/port-plan.ts';
import type { NeutronPodPorts } from './pods/ports.ts';
import { addressUse, namePorts, poolCapacity, usersOf } from './ports.ts';
import { type Found, NEUTRON_PORTS } from './resources.ts';
import type { NeutronStore } from './store.ts';

export interface NeutronOptions {
  /** Returns the client. @throws NotConfiguredError without one. */
  readonly api: () => NeutronApi;
  readonly store: NeutronStore;
  /** The UID of the namespace kube-system, which distinguishes the networks of clusters. */
  readonly clusterId: (signal: AbortSignal) => Promise<string>;
  /** Whether pods can attach, with these definitions and ports. */
  readonly attachesPods: boolean;
  readonly definitions: Definitions;
  readonly ports: Pick<NeutronPodPorts, 'attach' | 'refusalOn'>;
  readonly usageOf: (network: Network) => Usage;
}

/** The retry interval if Neutron does not answer, or ports block a change. */
const RETRY_MS = 10_000;
/** A new network takes three rounds: network, subnet, check. The others are for conflicts with other clients. */
const MAX_ROUNDS = 8;

/**
 * Realises a Network as a network of OpenStack Neutron with one subnet. The creating call writes the Network's UID
 * into the description, which proves ownership. Each write is based on a fresh read, tied to its revision, and
 * checked afterwards. So the provider continues interrupted work, and removes duplicates. neutronCheck finds leftovers of
 * earlier Networks by their mark.
 */
export class NeutronProvider implements Provider {
  readonly name = 'neutron';
  readonly attachesPods: boolean;
  readonly isRemote = true;
  readonly ports: PodPorts | undefined;
  readonly #options: NeutronOptions;
  readonly #store: NeutronStore;

  constructor(options: NeutronOptions) {
    this.attachesPods = options.attachesPods;
    this.ports = options.attachesPods ? options.ports : undefined;
    this.#options = options;
    this.#store = options.store;
  }

  /** Accepts everything that the CRD's rules allow: only Neutron knows its own limits. */
  validate({ spec }: Network): SpecError | undefined {
    if (!spec.exclude) return undefined;
    return { reason: 'Invalid', message: 'provider neutron does not support spec.exclude: remove it' };
  }

  async actual(network: Network, signal: AbortSignal): Promise<Subnet | undefined> {
    const found = keptOf(await this.#known(network, signal));
    return found && shapeOfFound(found, subnetOf(network.spec));
  }

  async usage(network: Network, signal: AbortSignal): Promise<Usage | undefined> {
    const found = await this.#known(network, signal);
    const counts = this.#store.hasListed() ? addressUse(found) : undefined;
    if (!this.attachesPods) return counts && { pods: [], allocated: counts.allocated };
    const { usageOf, ports } = this.#options;
    const refusal = ports.refusalOn(network);
    return { ...usageOf(network), ...counts, ...(refusal !== undefined && { refusal }) };
  }

  async ensure(network: Network, shape: Subnet, signal: AbortSignal): Promise<Ensured> {
    let ensured: Ensured;
    try {
      await this.#store.refreshed(signal);
      ensured = await this.#ensure(network, shape, signal);
    } catch (error) {
      if (signal.aborted || !isUnavailable(error)) throw error;
      return notReady('ProviderUnavailable', error.message);
    }
    return ensured.kind === 'ready' ? this.#attachable(network, ensured, signal) : ensured;
  }

  async remove(network: Network, { retain }: { retain: boolean }, signal: AbortSignal): Promise<Removal> {
    const definition = await this.#options.definitions.remove(network, retain, signal);
    if (definition.kind === 'blocked') return definition;
    try {
      await this.#store.refreshed(signal);
      return await this.removeOf(await this.#ownerOf(network, signal), retain, signal);
    } catch (error) {
      // Without credentials and without a known network, nothing is left to delete. The garbage collector finds
      // leftovers.
      if (error instanceof NotConfiguredError && !network.status?.externalID) return { kind: 'gone' };
      if (signal.aborted || !isUnavailable(error)) throw error;
      return blocked(`cannot delete the network in Neutron: ${error.message}`);
    }
  }

  /** Deletes the networks with this owner's mark; with `retain`, removes only the marks. */
  async removeOf(owner: Owner, retain: boolean, signal: AbortSignal): Promise<Removal> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const actions = retain
        ? (await this.#store.read(owner, signal)).flatMap(disownmentOf)
        : (await this.#store.networksOf(owner, signal)).map(deletionOf);
      if (actions.length === 0) {
        this.#store.forget(owner.uid);
        return { kind: 'gone' };
      }
      try {
        await this.#performAll(actions, [], signal);
      } catch (error) {
        if (isInUse(error)) return await this.#heldByPorts(owner, error, signal);
        if (!isStaleRevision(error) && !isGone(error)) throw error;
      }
    }
    throw new Error(`other clients keep changing the network of ${owner.key} in Neutron: retrying`);
  }

  async #ensure(network: Network, shape: Subnet, signal: AbortSignal): Promise<Ensured> {
    // Of the status, if the spec is refused: Neutron would store another range than one with host bits.
    for (const { cidr } of rangesOf(shape))
      if (!parseRange(cidr)) throw new Error(`expected a range in canonical form, got ${cidr}`);
    const owner = await this.#ownerOf(network, signal);
    const wanted = { owner, shape, retain: network.spec.deletionPolicy === 'Retain' };
    const known = this.#store.known(owner.uid);
    const seen = keptOf(known);
    // The lists may only decide that nothing needs a change.
    if (seen && actionsFor(known, wanted).length === 0) return realised(network, seen, shape, []);
    const done: Action[] = [];
    let found = await this.#store.read(owner, signal);
    let refusal: unknown;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const actions = actionsFor(found, wanted);
      const kept = keptOf(found);
      if (kept && actions.length === 0) return realised(network, kept, shape, done);
      const [first] = actions;
      if (first?.kind === 'wait') return notReady('InUse', first.message);
      const created = await this.#performAll(actions, done, signal).catch((error: unknown) => {
        // What was read is outdated: the next round reads again.
        if (!isStaleRevision(error) && !isGone(error) && !isInUse(error)) throw error;
        refusal = error;
      });
      found = created ? [created] : await this.#store.read(owner, signal);
    }
    if (isInUse(refusal)) return notReady('InUse', refusal.message);
    const why = `still differs from the spec after ${MAX_ROUNDS} attempts`;
    throw new Error(`the network of ${owner.key} in Neutron ${why}`, { cause: refusal });
  }

  /** Writes the definition with which pods attach. */
  async #attachable(network: Network, made: Realised, signal: AbortSignal): Promise<Ensured> {
    if (!this.attachesPods) return made;
    const mtu = keptOf(this.#store.known(network.metadata.uid ?? ''))?.network.mtu;
    const wanted = attachmentWith(network, ovsConfig(network, mtu));
    const change = await this.#options.definitions.ensure(network, wanted, signal);
    if (typeof change === 'object') return change;
    return made.change === 'none' ? { ...made, change } : made;
  }

  async #performAll(
    actions: readonly Action[],
    done: Action[],
    signal: AbortSignal,
  ): Promise<Found | undefined> {
    let created: Found | undefined;
    for (const action of actions) {
      if (action.kind === 'wait') continue;
      created = await action.call(this.#options.api(), signal);
      done.push(action);
    }
    return created;
  }

  async #heldByPorts(owner: Owner, refusal: Error, signal: AbortSignal): Promise<Removal> {
    const ids = (await this.#store.networksOf(owner, signal)).map(({ id }) => id);
    const ports =
      ids.length === 0 ? [] : await this.#options.api().list(NEUTRON_PORTS, { network_id: ids }, signal);
    const users = usersOf(ports);
    // Neutron's error may name ports that the operator cannot see.
    if (users.length === 0) return blocked(refusal.message);
    return blocked(`waiting for ports on the network in Neutron: ${namePorts(users)}`);
  }

  /** The known networks, also if Neutron does not answer: ensure and remove report that. */
  async #known({ metadata }: Network, signal: AbortSignal): Promise<readonly Found[]> {
    try {
      await this.#store.refreshed(signal);
    } catch (error) {
      if (signal.aborted || !isUnavailable(error)) throw error;
    }
    return this.#store.known(metadata.uid ?? '');
  }

  async #ownerOf(network: Network, signal: AbortSignal): Promise<Owner> {
    const cluster = await this.#options.clusterId(signal);
    return { key: keyOf(network), uid: network.metadata.uid ?? '', cluster };
  }
}

function notReady(reason: string, message: string): NotReady {
  return { kind: 'notReady', reason, message, retryAfterMs: RETRY_MS, keepsKnown: true };
}

function blocked(message: string): Removal {
  return { kind: 'blocked', message, retryAfterMs: RETRY_MS };
}

/** The result for a network that matches the spec after these calls. */
function realised(
  network: Network,
  { network: real, subnets }: Found,
  shape: Subnet,
  done: readonly Action[],
): Realised {
  const change = done.length === 0 ? 'none' : changeOf(network, done);
  const capacities = rangesOf(shape).map(({ cidr }) =>
    poolCapacity(subnets.filter((subnet) => subnet.cidr === cidr).flatMap(({ pools }) => pools)),
  );
  return { kind: 'ready', change, capacity: Math.min(...capacities), externalID: real.id };
}

/** Whether the calls applied the spec, or undid a change of another client. */
function changeOf(network: Network, done: readonly Action[]): Realised['change'] {
  const recorded = recordedSubnet(network);
  if (!recorded) return 'created';
  if (done.some(({ kind }) => kind === 'createNetwork')) return 'restored';
  return sameSubnet(recorded, subnetOf(network.spec)) ? 'restored' : 'updated';
}

import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import { capacityOf, poolsOf } from '../addresses/pool.ts';
import type { NetworkAttachmentDefinition } from '../api/resources.ts';
import type { Subnet } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import type { Ensured, Provider, Removal, SpecError, Usage } from '../providers/provider.ts';
import type { AttachmentStoreOptions } from './attachment-store.ts';
import { Attachments } from './attachments.ts';
import { hasRange, vniIn } from './cni-config.ts';
import { attachmentFor, isMadeFor } from './multus-attachment.ts';
import { nowhere } from './multus-findings.ts';
import { Vnis } from './multus-vnis.ts';
import type { MultusReason } from './reasons.ts';

export interface MultusOptions extends AttachmentStoreOptions {
  /** Their status shows which VXLAN identifiers are in use. */
  readonly networks: Pick<Lister<Network>, 'byIndex'>;
  /** The users of the Network. Without it, users are not counted. */
  readonly usageOf?: ((network: Network) => Usage) | undefined;
  /** The MTU of networks whose spec sets none, in bytes. */
  readonly defaultMtu: () => number;
  /** Why Multus attaches pods on no node; undefined if it does on one, or that is not known. */
  readonly obstacle?: (() => string | undefined) | undefined;
  /** Whether pods of all namespaces may use the Network. Without it, they may not. */
  readonly isShared?: ((key: ObjectKey) => boolean) | undefined;
}

/**
 * Realises a Network as a NetworkAttachmentDefinition of the same name. Multus attaches pods to it with the CNI
 * plugin bridge, and node agents connect the bridges.
 */
export class MultusProvider implements Provider<MultusReason> {
  readonly name = 'multus';
  readonly attachesPods = true;
  readonly isRemote = false;
  readonly defaultMtu: () => number;
  readonly #usageOf: MultusOptions['usageOf'];
  readonly #isShared: (key: ObjectKey) => boolean;
  readonly #obstacle: MultusOptions['obstacle'];
  readonly #vnis: Vnis;
  readonly #attachments: Attachments;

  constructor(options: MultusOptions) {
    this.#usageOf = options.usageOf;
    this.defaultMtu = options.defaultMtu;
    this.#isShared = options.isShared ?? (() => false);
    this.#obstacle = options.obstacle;
    this.#vnis = new Vnis(options.networks, options.attachments.lister);
    this.#attachments = new Attachments(options);
  }

  /** Call this when the informer sees a change of the definition with this key. */
  settle(key: ObjectKey): void {
    this.#attachments.settle(key);
  }

  /** bridge supports everything that the CRD's rules allow. */
  validate(): SpecError | undefined {
    return undefined;
  }

  /** Users may edit definitions, so only the status shows the subnet. */
  async actual(): Promise<undefined> {
    return undefined;
  }

  async usage(network: Network): Promise<Usage | undefined> {
    const found = this.#attachments.known(keyOf(network));
    // Ignore pods attached to a definition that was never the operator's.
    const isForeign = network.status?.cidr === undefined && found && !isMadeFor(found, network);
    return this.#usageOf && isForeign ? { pods: [], allocated: 0 } : this.#usageOf?.(network);
  }

  /**
   * Whether pods get the addresses that the operator writes into their annotations. A definition of an earlier release
   * has each node give out its own.
   */
  takesAddresses(key: ObjectKey): boolean {
    return !hasRange(this.#attachments.known(key)?.spec?.config);
  }

  async ensure(network: Network, subnet: Subnet, signal: AbortSignal): Promise<Ensured<MultusReason>> {
    let vni: number | undefined;
    const wantedFor = async (ours: NetworkAttachmentDefinition | undefined) => {
      const old = ours?.spec?.config;
      const { vni: known = network.status?.cidr === undefined ? undefined : vniIn(old) } =
        network.status ?? {};
      vni = this.#vnis.vniFor(network, known);
      const areCurrent = (await this.usage(network))?.nodes?.areCurrent ?? true;
      const isUpgrade = hasRange(old);
      const text = attachmentFor(network, subnet.mtu, this.#isShared(keyOf(network)));
      // An old agent would not let pods attach with the new text.
      const wanted = isUpgrade && !areCurrent ? { ...text, spec: { ...text.spec, ...ours?.spec } } : text;
      return { wanted, isUpgrade };
    };
    const ensured = await this.#attachments.ensure(network, wantedFor, signal);
    if (ensured.kind === 'notReady') return ensured;
    const obstacle = this.#obstacle?.();
    if (obstacle !== undefined) return nowhere(obstacle);
    const capacity = capacityOf(poolsOf(subnet, network.spec.exclude));
    return { kind: 'ready', change: ensured.change, capacity, ...(vni !== undefined && { vni }) };
  }

  remove(network: Network, { retain }: { retain: boolean }, signal: AbortSignal): Promise<Removal> {
    return this.#attachments.remove(network, retain, signal);
  }

  async release(key: ObjectKey, signal: AbortSignal): Promise<void> {
    this.#vnis.release(key);
    await this.#attachments.release(key, signal);
  }
}

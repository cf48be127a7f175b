import { hasFinalizer } from '../api/finalizer.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import type { Network } from '../api/types.ts';
import type { AnyProvider } from '../providers/index.ts';
import type { NotReady, Provider, Removal, SpecError, Usage } from '../providers/provider.ts';

/** The configured providers, and which of them each Network uses. */
export class ProviderRegistry {
  readonly #configured: ReadonlyMap<string, AnyProvider>;
  readonly #defaultName: string;

  constructor(configured: readonly AnyProvider[], defaultName: string) {
    this.#configured = new Map(configured.map((provider) => [provider.name, provider]));
    this.#defaultName = defaultName;
  }

  /** Names of the providers to whose networks pods can attach. */
  attaching(): readonly string[] {
    return [...this.all()].filter(({ attachesPods }) => attachesPods).map(({ name }) => name);
  }

  all(): Iterable<AnyProvider> {
    return this.#configured.values();
  }

  /**
   * The provider in the spec; else the one that created the network, even if the default changed; else the default.
   */
  of(network: Network): AnyProvider {
    const realisedBy = hasFinalizer(network, NETWORK_FINALIZER) ? network.status?.provider : undefined;
    const name = network.spec.provider ?? realisedBy ?? this.#defaultName;
    return this.#configured.get(name) ?? new UnconfiguredProvider(name, [...this.#configured.keys()]);
  }
}

/** Represents a provider that a Network names and that is not configured. */
class UnconfiguredProvider implements Provider<never> {
  readonly name: string;
  /** Unknown: pods keep their gate until the provider is configured. */
  readonly attachesPods = true;
  readonly isRemote = false;
  readonly #configured: readonly string[];

  constructor(name: string, configured: readonly string[]) {
    this.name = name;
    this.#configured = configured;
  }

  validate(): SpecError {
    return { reason: 'ProviderUnavailable', message: this.#message() };
  }

  async actual(): Promise<undefined> {
    return undefined;
  }

  async ensure(): Promise<NotReady<never>> {
    return { kind: 'notReady', reason: 'ProviderUnavailable', message: this.#message() };
  }

  async usage(): Promise<Usage | undefined> {
    return undefined;
  }

  async remove(): Promise<Removal> {
    return { kind: 'blocked', message: `cannot delete the real network of this Network: ${this.#message()}` };
  }

  async release(): Promise<void> {}

  #message(): string {
    return `provider ${this.name} is not configured in this operator: use one of ${this.#configured.join(', ')}`;
  }
}

import { hasFinalizer } from '../api/finalizer.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import type { Network } from '../api/types.ts';
import type { AnyProvider } from '../providers/index.ts';
import type { NotReady, Provider, Removal, SpecError, Usage } from '../providers/provider.ts';

/** The providers that this operator was given, and which of them a Network is with. */
export class ProviderRegistry {
  readonly #configured: ReadonlyMap<string, AnyProvider>;
  readonly #defaultName: string;

  constructor(configured: readonly AnyProvider[], defaultName: string) {
    this.#configured = new Map(configured.map((provider) => [provider.name, provider]));
    this.#defaultName = defaultName;
  }

  /** Names of those whose networks pods can be attached to. */
  attaching(): readonly string[] {
    return [...this.all()].filter(({ attachesPods }) => attachesPods).map(({ name }) => name);
  }

  all(): Iterable<AnyProvider> {
    return this.#configured.values();
  }

  /** The one that the spec names; else the one that realised it, whatever the default has become since; else the default. */
  of(network: Network): AnyProvider {
    const realisedBy = hasFinalizer(network, NETWORK_FINALIZER) ? network.status?.provider : undefined;
    const name = network.spec.provider ?? realisedBy ?? this.#defaultName;
    return this.#configured.get(name) ?? new UnconfiguredProvider(name, [...this.#configured.keys()]);
  }
}

/** Stands for a provider that a Network names and this operator was not given. */
class UnconfiguredProvider implements Provider<never> {
  readonly name: string;
  /** Not known: pods wait at their gate until it is. */
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
    return { kind: 'blocked', message: `its network cannot be removed: ${this.#message()}` };
  }

  async release(): Promise<void> {}

  #message(): string {
    return `this operator is not set up for provider ${this.name}, only for ${this.#configured.join(', ')}`;
  }
}

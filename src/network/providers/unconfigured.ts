import type { NotReady, Provider, Removal, SpecError, Usage } from './provider.ts';

/** Stands for a provider that a Network names and this operator was not given. */
export class UnconfiguredProvider implements Provider<never> {
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

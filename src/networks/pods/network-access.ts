/** Which Networks pods may use: those of their own namespace and of shared namespaces. */
export class NetworkAccess {
  readonly #shared: readonly string[];

  /** `*` means all namespaces. */
  constructor(sharedNamespaces: readonly string[]) {
    this.#shared = sharedNamespaces;
  }

  /** Whether pods of the namespace may use the Network of this key. */
  allows(podNamespace: string, network: string): boolean {
    return network.slice(0, network.indexOf('/')) === podNamespace || this.isShared(network);
  }

  isShared(network: string): boolean {
    return this.#shared.includes('*') || this.#shared.includes(network.slice(0, network.indexOf('/')));
  }
}

export const OPEN_ACCESS = new NetworkAccess(['*']);

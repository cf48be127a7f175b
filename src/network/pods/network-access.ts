/** Which Networks pods may use: those of their own namespace and of shared namespaces. */
export class NetworkAccess {
  readonly #shared: readonly string[];

  /** `*` means all namespaces. */
  constructor(sharedNamespaces: readonly string[]) {
    this.#shared = sharedNamespaces;
  }

  /** Whether pods of the namespace may use the Network of this key. */
  allows(podNamespace: string, network: string): boolean {
    const namespace = network.slice(0, network.indexOf('/'));
    return namespace === podNamespace || this.#shared.includes(namespace) || this.#shared.includes('*');
  }
}

/** Every pod may use every Network. */
export const OPEN_ACCESS = new NetworkAccess(['*']);

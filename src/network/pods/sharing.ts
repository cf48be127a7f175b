/** Whether pods of the namespace may use the Network of this key: one of their own, or of a shared namespace (`*`: all). */
export function mayUse(network: string, podNamespace: string, sharedNamespaces: readonly string[]): boolean {
  const namespace = network.slice(0, network.indexOf('/'));
  return namespace === podNamespace || sharedNamespaces.includes(namespace) || sharedNamespaces.includes('*');
}

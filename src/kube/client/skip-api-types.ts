import { registerHooks } from 'node:module';

/** In client-node: the module that reads kubeconfigs. */
const CONFIG = '/@kubernetes/client-node/dist/config.js';
/** Its imports for clients, credentials and proxies, which src/kube/client has of its own. */
const UNUSED: readonly string[] = [
  './gen/index.js',
  './azure_auth.js',
  './gcp_auth.js',
  './oidc_auth.js',
  'hpagent',
  'socks',
  'socks-proxy-agent',
  'undici',
];
/** The module beside this one, in its source or compiled form. */
const PARTS = import.meta.url.replace('skip-api-types', 'unused-parts');

/** Whether `importer`, a path or URL, imports the module but never uses it. */
export function isUnused(specifier: string, importer: string | undefined): boolean {
  return UNUSED.includes(specifier) && importer?.endsWith(CONFIG) === true;
}

/**
 * Avoids loading the 1,600 modules of client-node's generated types and clients, and the packages for its own requests,
 * since only its kubeconfig is used. They take half of the CPU time of a start, and 50 MB. Call it before the first
 * import of client-node. Without it everything works, but slower.
 */
export function skipApiTypes(): void {
  registerHooks({
    resolve: (specifier, context, next) =>
      isUnused(specifier, context.parentURL) ? { url: PARTS, shortCircuit: true } : next(specifier, context),
  });
}

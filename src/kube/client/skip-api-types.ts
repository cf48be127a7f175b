import { registerHooks } from 'node:module';

/** In client-node: the module that reads kubeconfigs, and the index of generated clients that it imports. */
const CONFIG = '/@kubernetes/client-node/dist/config.js';
const GENERATED = './gen/index.js';
/** The module beside this one, in its source or compiled form. */
const PARTS = import.meta.url.replace('skip-api-types', 'generated-parts');

/**
 * Avoids loading the 1,600 modules of client-node's generated types and clients, since only its kubeconfig is used.
 * They take half of the CPU time of a start, and 50 MB. Call it before the first import of client-node. Without it
 * everything works, but slower.
 */
export function skipApiTypes(): void {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === GENERATED && context.parentURL?.endsWith(CONFIG)
        ? { url: PARTS, shortCircuit: true }
        : next(specifier, context),
  });
}

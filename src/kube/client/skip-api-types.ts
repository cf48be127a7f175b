import { registerHooks } from 'node:module';

/** Of client-node: what reads kubeconfigs, and the index of its generated clients, which that imports. */
const CONFIG = '/@kubernetes/client-node/dist/config.js';
const GENERATED = './gen/index.js';
/** Of this file, by its name, compiled or not. */
const PARTS = import.meta.url.replace('skip-api-types', 'generated-parts');

/**
 * Spares the process the 1,600 modules of client-node's generated types and clients, of which only kubeconfigs are used
 * here: they are half of the CPU time of a start, and 50 MB. To be called before the first import of client-node; without
 * it all is the same, but slower.
 */
export function skipApiTypes(): void {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === GENERATED && context.parentURL?.endsWith(CONFIG)
        ? { url: PARTS, shortCircuit: true }
        : next(specifier, context),
  });
}

import { keysFor } from '../../../src/injection/keys.ts';
import type { Core } from '../../../src/operator/core.ts';

type Parts = { readonly [K in keyof Core]?: object };

/** A core that has only these parts, and decides as by default. */
export function coreOf(parts: Parts): Core {
  const decideOptions = {
    keys: keysFor('initializer.kubernetes.io/envoy'),
    requireAnnotation: true,
    operatorNamespace: 'envoy-initializer',
  };
  return { decideOptions, ...parts } as Core;
}

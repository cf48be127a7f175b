import { defineAddOn } from '../../cli/add-on.ts';
import { duration, type FlagSpecs, named, oneOf } from '../../cli/options/option-values.ts';

const FLAGS = {
  repair: {
    parse: named('mode', oneOf('off', 'report', 'evict')),
    default: 'report',
    help: 'what to do about pods that were admitted without their sidecar: off, report, or evict (to recreate them)',
  },
  'repair-window': { parse: duration, default: '15m', help: 'maximum age of pods to evict' },
} as const satisfies FlagSpecs;

/** Pods whose sidecar is missing or stale: found, reported and, if asked for, evicted. */
export const drift = defineAddOn(FLAGS, {
  name: 'drift',
  commands: [
    {
      name: 'drift',
      description: 'list pods with a missing or stale sidecar',
      examples: ['drift -A', 'drift -n shop -l app=web'],
      load: () => import('./cli/drift.ts'),
    },
  ],
  operator: async () => (await import('./setup.ts')).setUpDrift,
});

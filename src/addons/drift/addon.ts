import { defineAddOn } from '../../cli/add-on.ts';

/** Pods whose sidecar is missing or stale: found and reported. */
export const drift = defineAddOn(
  {},
  {
    name: 'drift',
    commands: [
      {
        name: 'drift',
        description: 'list pods with a missing or stale sidecar',
        usage: '[options]',
        examples: ['drift -A', 'drift -n shop -l app=web'],
        load: () => import('./cli/drift.ts'),
      },
    ],
    operator: async () => (await import('./setup.ts')).setUpDrift,
  },
);

import { defineAddOn } from '../../cli/add-on.ts';

/** A new template for running pods, step by step; until it is promoted, new pods get the one before. */
export const rollout = defineAddOn(
  {},
  {
    name: 'rollout',
    commands: [
      {
        name: 'rollout',
        description: 'show, pause or resume the rollout of a template to running pods',
        usage: '[options] [action]',
        examples: ['rollout --watch', 'rollout pause'],
        load: () => import('./cli/rollout.ts'),
      },
    ],
    operator: async () => (await import('./setup.ts')).setUpRollout,
    tools: async () => (await import('./cli/tools.ts')).tools,
  },
);

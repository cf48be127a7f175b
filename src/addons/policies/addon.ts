import { defineAddOn } from '../../cli/add-on.ts';
import { type FlagSpecs, named, oneOf } from '../../cli/options/option-values.ts';

const FLAGS = {
  policy: {
    parse: named('mode', oneOf('auto', 'off')),
    default: 'auto',
    help: 'auto: admission policies inject the pods that they cover (Kubernetes 1.36); off: only the webhook injects pods',
  },
} as const satisfies FlagSpecs;

/** The template as admission policies, by which the API server injects pods itself. */
export const policies = defineAddOn(FLAGS, {
  name: 'policies',
  commands: [
    {
      name: 'policy',
      description: 'print admission policies with which the API server applies a template (Kubernetes 1.36+)',
      examples: ['policy -f template.yaml | kubectl apply -f -'],
      load: () => import('./cli/policy.ts'),
    },
  ],
  operator: async () => (await import('./setup.ts')).setUpPolicies,
  tools: async () => (await import('./cli/tools.ts')).tools,
});

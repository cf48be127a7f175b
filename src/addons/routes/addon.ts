import { defineAddOn } from '../../cli/add-on.ts';
import { bool, type FlagSpecs, named, oneOf } from '../../cli/options/option-values.ts';

const FLAGS = {
  routes: {
    parse: named('mode', oneOf('auto', 'off')),
    default: 'auto',
    help: 'auto: sidecars from template `transparent` follow HTTPRoutes (Gateway API) if the cluster serves them; off: they keep the routes they have',
  },
  'routes-touch': {
    parse: bool,
    default: 'true',
    help: 'change a pod annotation so that kubelets mount new routes at once; false: within 90 s',
  },
} as const satisfies FlagSpecs;

/** HTTPRoutes of the Gateway API, as the routes of running sidecars. */
export const routes = defineAddOn(FLAGS, {
  name: 'routes',
  commands: [
    {
      name: 'traffic',
      description:
        "show requests, success rate and latency by route and backend, as clients' sidecars see them",
      usage: '[options] [target] [name]',
      examples: ['traffic -n shop', 'traffic svc/web --watch', 'traffic deploy/client -o json'],
      load: () => import('./cli/traffic.ts'),
    },
  ],
  operator: async () => (await import('./delivery/setup.ts')).setUpRouteDelivery,
  tools: async () => (await import('./cli/tools.ts')).tools,
});

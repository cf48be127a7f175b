import { defineAddOn } from '../../cli/add-on.ts';

/** The sidecar in files: a command line that changes manifests as the webhook would change their pods. */
export const manifests = defineAddOn(
  {},
  {
    name: 'manifests',
    commands: [
      {
        name: 'inject',
        description: 'print manifests with the sidecar in their pods',
        examples: ['inject -f web.yaml | kubectl apply -f -'],
        load: () => import('./cli/inject.ts'),
      },
      {
        name: 'uninject',
        description: 'print manifests as they were before inject',
        examples: ['uninject -f web.yaml | envoy-initializer inject -f -'],
        load: () => import('./cli/uninject.ts'),
      },
    ],
  },
);

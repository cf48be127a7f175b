import type { AddOn, CommandEntry } from './add-on.ts';

/** In the order of the help. */
const CORE_COMMANDS: readonly CommandEntry[] = [
  {
    name: 'serve',
    description: 'run the operator: the webhook and the controllers',
    usage: '[options]',
    examples: ['serve --kubeconfig ~/.kube/config --log-format pretty'],
    load: () => import('./serve.ts'),
  },
  {
    name: 'node-agent',
    description: 'run the agent of a node: connect its Networks with other nodes, and remove leftovers',
    usage: '[options]',
    examples: ['node-agent --node-name worker-1'],
    load: () => import('./node-agent.ts'),
  },
  {
    name: 'status',
    description: 'show whether the operator is healthy, and what to do about each problem',
    usage: '[options]',
    examples: ['status', 'status -o json'],
    load: () => import('./status/status.ts'),
  },
  {
    name: 'version',
    description: 'print the versions of this program, the operator, the API server and the sidecars',
    usage: '[options]',
    examples: ['version', 'version --client'],
    load: () => import('./status/version.ts'),
  },
  {
    name: 'inject',
    description: 'print manifests with the sidecar in their pods',
    usage: '[options]',
    examples: ['inject -f web.yaml | kubectl apply -f -'],
    load: () => import('./inject.ts'),
  },
  {
    name: 'uninject',
    description: 'print manifests as they were before inject',
    usage: '[options]',
    examples: ['uninject -f web.yaml | envoy-initializer inject -f -'],
    load: () => import('./uninject.ts'),
  },
  {
    name: 'check',
    description: 'explain why a pod or workload is injected or not',
    usage: '[options] [target] [name]',
    examples: [
      'check deploy/web -n shop',
      'check pod/web-0 --to http://reviews:9080/',
      'check network/example-network',
      'check -A',
    ],
    load: () => import('./check/check.ts'),
  },
  {
    name: 'lint',
    description: 'find problems in templates',
    usage: '[options] <file...>',
    examples: ['lint template.yaml', 'lint --envoy envoy.json'],
    load: () => import('./lint/lint.ts'),
  },
  {
    name: 'uninstall',
    description: 'remove the operator and all its objects from the cluster',
    usage: '[options]',
    examples: ['uninstall', 'uninstall --force --timeout 10m'],
    load: () => import('./uninstall/uninstall.ts'),
  },
];

/** The commands of the core and of add-ons. */
export function commandsWith(addOns: readonly AddOn[]): readonly CommandEntry[] {
  return [...CORE_COMMANDS, ...addOns.flatMap(({ commands }) => commands)];
}

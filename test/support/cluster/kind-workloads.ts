import { dump } from 'js-yaml';
import { podOf } from './cluster-kubectl.ts';
import { deployment, service, serving } from './traffic-workloads.ts';

/** For sidecars that are drained one by one, templates that reach each replica, and pods that are refused meanwhile. */
export const PATIENCE = { boundMs: 300_000, everyMs: 1_000 };

/** The command that adds the template in a folder to those of the ConfigMap, as docs/envoy.md has it. */
export function addTransparent(folder: string): string {
  return `kubectl kustomize ${folder} | kubectl patch configmap envoy-initializer -n envoy-initializer --patch-file /dev/stdin`;
}

const backend = (name: string, weight: number) => ({ name, port: 80, weight });
const below = (value: string) => [{ path: { type: 'PathPrefix', value } }];

/** A Service of the pods of deploy/examples/canary. */
const served = (name: string, selector: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: 'app', ...selector }, ports: [{ port: 80, targetPort: 8080 }] },
});

/** What the documents take as given. */
export const kindWorkloads = {
  /** Of docs/envoy.md: an application without a sidecar, and who asks it. */
  hello: [
    deployment('hello', {}, { containers: [{ ...serving('hello', [8080]), name: 'busybox' }] }, 1),
    service('hello', 8080),
    podOf('client'),
  ],
  /** Of docs/routing.md: Services, and a route of two rules, of which the second takes what the first leaves. */
  services: [served('web'), served('web-v1', { version: 'v1' }), served('web-v2', { version: 'v2' })],
  web: (first: string) =>
    dump({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name: 'web' },
      spec: {
        parentRefs: [{ group: '', kind: 'Service', name: 'web' }],
        rules: [
          { matches: below('/v2'), backendRefs: [backend(first, 90), backend('web-v2', 10)] },
          { matches: below('/'), backendRefs: [backend('web-v1', 1)] },
        ],
      },
    }),
};

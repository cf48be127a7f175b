import { expect } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import { apply, type Kubectl, kubectl, manifests, podOf } from './cluster-kubectl.ts';
import { asking, NODE_NAMES, onNode } from './kind-two-nodes.ts';
import { PATIENCE } from './kind-workloads.ts';
import { CAPTURED, deployment, service, serving } from './traffic-workloads.ts';

/** Of both pods on the Network: the earlier release loses what kind's nodes send each other. */
const [, node] = NODE_NAMES;
/** Asks for a page again and again, and prints each answer. */
const client = (url: string) => ({
  command: ['sh', '-c', `while :; do timeout 5 wget -q -O- http://${url} || echo lost; sleep 0.1; done`],
});
/** To each client, what it is answered: by the route's backend, not by its Service. */
const ANSWERS = { routed: 'routed-to', attached: 'on-network' } as const;
const OBJECTS = [
  deployment('web', CAPTURED, { containers: [serving('web', [8080])] }, 1),
  deployment('routed-to', CAPTURED, { containers: [serving('routed-to', [8080])] }, 1),
  deployment(
    'routed',
    CAPTURED,
    { containers: [{ name: 'app', image: 'busybox', ...client('web:8080') }] },
    1,
  ),
  service('web', 8080),
  service('routed-to', 8080),
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'web' },
    spec: {
      parentRefs: [{ group: '', kind: 'Service', name: 'web' }],
      rules: [{ backendRefs: [{ name: 'routed-to', port: 8080 }] }],
    },
  },
  podOf(
    'on-network',
    serving('on-network', [8090]),
    onNode(node),
    asking('[{"name": "kept", "ips": ["10.22.0.10/24"]}]'),
  ),
  podOf('attached', client('10.22.0.10:8090'), onNode(node), asking('kept')),
];

/** Requests that go on: through sidecars by an HTTPRoute, and over the Network `kept`, on one node. */
export class KindTraffic {
  readonly #cluster: Kubectl;

  constructor(cluster: Kubectl) {
    this.#cluster = cluster;
  }

  /** Starts clients and servers. Resolves once each client gets the right answers. */
  async start(): Promise<void> {
    await apply(this.#cluster, ...OBJECTS);
    for (const [from, answer] of Object.entries(ANSWERS)) {
      await eventually(
        `${from} is answered`,
        async () => (await this.#answers(from, '--tail=1')).at(-1) === answer,
        PATIENCE,
      );
    }
  }

  /** Removes all that it has made. */
  async stop(): Promise<void> {
    await kubectl(this.#cluster, 'delete -f - --now', manifests(OBJECTS));
  }

  /** Does something, and expects that meanwhile no request is lost or answered by another server. */
  async during(act: () => Promise<void>): Promise<void> {
    const before = await this.#counts();
    await act();
    for (const [from, answer] of Object.entries(ANSWERS)) {
      const answers = (await this.#answers(from)).slice(before[from]);
      expect({ from, wrong: answers.filter((each) => each !== answer) }).toEqual({ from, wrong: [] });
      expect(answers.length).toBeGreaterThan(20);
    }
  }

  async #counts(): Promise<Readonly<Record<string, number>>> {
    const counts = Object.keys(ANSWERS).map(
      async (from) => [from, (await this.#answers(from)).length] as const,
    );
    return Object.fromEntries(await Promise.all(counts));
  }

  /** What a client has printed: a line for each request. */
  async #answers(from: string, ...options: readonly string[]): Promise<readonly string[]> {
    const target = from === 'routed' ? ['deployment/routed', '-c', 'app'] : [from];
    const printed = await kubectl(this.#cluster, ['logs', ...target, ...options]);
    return printed.trim().split('\n');
  }
}

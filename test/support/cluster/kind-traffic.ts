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

/** How many answers each client has got. */
type Counts = Readonly<Record<string, number>>;

/** Requests that go on: through sidecars by an HTTPRoute, and over the Network `kept`, on one node. */
export class KindTraffic {
  readonly #cluster: Kubectl;
  /** When all were right: each answer since then is judged. */
  #atStart: Counts = {};

  constructor(cluster: Kubectl) {
    this.#cluster = cluster;
  }

  /** Starts clients and servers. Resolves once each client gets the right answers. */
  async start(): Promise<void> {
    await apply(this.#cluster, ...OBJECTS);
    for (const [from, answer] of Object.entries(ANSWERS)) {
      const isRight = async () => (await this.#answers(from, '--tail=1')).at(-1) === answer;
      await eventually(`${from} is answered`, isRight, PATIENCE);
    }
    this.#atStart = await this.#counts();
  }

  /** Removes all that it has made. */
  async stop(): Promise<void> {
    await kubectl(this.#cluster, 'delete -f - --now', manifests(OBJECTS));
  }

  /**
   * Does something, and expects that since the start no request was lost or answered by another server, and that
   * meanwhile no container was replaced: its log would be gone.
   */
  async during(act: () => Promise<void>): Promise<void> {
    const [containers, before] = [await this.#containers(), await this.#counts()];
    await act();
    const after = await this.#counts();
    for (const [from, answer] of Object.entries(ANSWERS)) {
      // The one that was on its way, and one more.
      const goesOn = async () => (await this.#answers(from)).length > (after[from] ?? 0) + 1;
      await eventually(`${from} gets further answers`, goesOn);
      const answers = await this.#answers(from);
      const wrong = answers.slice(this.#atStart[from]).filter((each) => each !== answer);
      expect({ from, wrong }).toEqual({ from, wrong: [] });
      expect(answers.length - (before[from] ?? 0)).toBeGreaterThan(20);
    }
    expect(await this.#containers()).toEqual(containers);
  }

  async #containers(): Promise<readonly string[]> {
    return (await kubectl(this.#cluster, 'get pods -o jsonpath={..containerID}')).split(' ').sort();
  }

  async #counts(): Promise<Counts> {
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

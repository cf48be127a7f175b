import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from '../../env/cluster/cluster.ts';
import { apply, kubectl } from '../cluster/cluster-kubectl.ts';
import { CAPTURED, deployment } from '../cluster/traffic-workloads.ts';

/** The response header by which an answer says which change of the route the sidecar obeys. */
const HEADER = 'x-change';

/** Answers with its name. Unlike httpd of busybox, it keeps connections. */
const SERVER = `require('node:http').createServer((_, response) => response.end(process.env.NAME)).listen(8080)`;

/**
 * Asks four times a second on one connection that stays open, and prints each change of the header, and each answer that is
 * not 200. Fifty of them share a small node with all else, so none starts a process for a request.
 */
const WATCH = `mkfifo /tmp/never; exec 3<>/tmp/never
while :; do
  while printf 'GET / HTTP/1.1\\r\\nHost: web\\r\\n\\r\\n'; do read -t 0.25 -r _ <&3; done | nc web 80 |
    awk '/^${HEADER}:/ && $2 != last { last = $2; print; fflush() } /^HTTP/ && $2 != 200 { print "failed: " $0; fflush() }'
  read -t 0.25 -r _ <&3
done`;

const WATCHER = { containers: [{ name: 'app', image: 'busybox', command: ['sh', '-c', WATCH] }] };
/** Fifty requests of 100m would not fit on a node of two cores, and fifty sidecars need no threads of their own for each. */
const SMALL = {
  ...CAPTURED,
  'initializer.kubernetes.io/envoy-cpu-request': '10m',
  'initializer.kubernetes.io/envoy-concurrency': '1',
};

/** Asks so many times a second, by turns on a connection of its own and on one that is kept, and prints the failures. */
const LOAD = `const http = require('node:http');
const kept = new http.Agent({ keepAlive: true, maxSockets: 4 });
const counts = { asked: 0, answered: 0, failed: 0, 'v1': 0, 'v2': 0 };
const failed = (why) => { counts.failed += 1; console.log('failed: ' + new Date().toISOString() + ' ' + why); };
setInterval(() => {
  const agent = counts.asked++ % 2 ? kept : false;
  http.get('http://web/', { agent, timeout: 15000 }, (response) => {
    let body = '';
    response.on('data', (part) => { body += part; });
    response.on('end', () => {
      if (response.statusCode !== 200) return failed(response.statusCode + ' ' + body);
      counts.answered += 1;
      counts[body] += 1;
    });
  }).on('timeout', function () { this.destroy(new Error('no answer in 15 s')); }).on('error', (err) => failed(err.message));
}, 1000 / Number(process.env.RATE));
setInterval(() => console.log('counts: ' + JSON.stringify(counts)), 1000);
process.on('SIGTERM', () => process.exit());`;

/** Longer than a new leader and the kubelet take together. */
const PATIENCE_MS = 120_000;
/** The logs say when a pod obeyed: it matters little how soon they are read. */
const LOOK_MS = 500;

interface PodJson {
  readonly status: {
    readonly containerStatuses?: readonly { readonly restartCount: number }[];
    readonly initContainerStatuses?: readonly { readonly restartCount: number }[];
  };
}

/** What the load counted. */
export interface LoadCounts {
  readonly asked: number;
  readonly answered: number;
  readonly failed: number;
  readonly v1: number;
  readonly v2: number;
}

/** When a pod obeyed a change first. */
export interface Obeyed {
  readonly pod: string;
  readonly change: number;
  /** In milliseconds since 1970, by the clock of the node, which is this machine. */
  readonly at: number;
}

/** How long the operator's part of a change took. */
export interface Phases {
  readonly stored: number | undefined;
  readonly written: number | undefined;
  readonly annotated: number | undefined;
  readonly annotations: number;
}

/** A line of the audit log. */
interface Patch {
  readonly objectRef: { readonly resource: string; readonly subresource?: string; readonly name: string };
  readonly user: { readonly username: string };
  readonly stageTimestamp: string;
}

/** Pods with a sidecar that send requests to the Service `web`, whose route changes. */
export class RouteLoad {
  readonly #cluster: Cluster;
  #change = 0;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Starts the backends v1 and v2, and so many pods that watch. */
  async start(watchers: number): Promise<void> {
    const backend = (name: string) => [
      deployment(name, undefined, node(SERVER, [{ name: 'NAME', value: name }], 8080), 1),
      service(name, name),
    ];
    await apply(this.#cluster, ...backend('v1'), ...backend('v2'), service('web', 'v1'));
    await this.#rolledOut('v1', 'v2');
    await this.change();
    await apply(this.#cluster, deployment('watch', SMALL, WATCHER, watchers));
    await this.#rolledOut('watch');
  }

  /** Starts one more pod, which sends so many requests a second. */
  async send(perSecond: number): Promise<void> {
    const load = node(LOAD, [{ name: 'RATE', value: `${perSecond}` }]);
    await apply(this.#cluster, deployment('load', CAPTURED, load, 1));
    await this.#rolledOut('load');
  }

  /** The number of the last change. */
  get last(): number {
    return this.#change;
  }

  /** Changes the route to send all requests to the other backend. Resolves with when `kubectl apply` began and ended. */
  async change(): Promise<{ readonly began: number; readonly ended: number }> {
    this.#change += 1;
    const isOdd = this.#change % 2 === 1;
    const set = [{ name: HEADER, value: `${this.#change}` }];
    const route = {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name: 'web' },
      spec: {
        parentRefs: [{ group: '', kind: 'Service', name: 'web' }],
        rules: [
          {
            filters: [{ type: 'ResponseHeaderModifier', responseHeaderModifier: { set } }],
            backendRefs: [
              { name: 'v1', port: 80, weight: isOdd ? 100 : 0 },
              { name: 'v2', port: 80, weight: isOdd ? 0 : 100 },
            ],
          },
        ],
      },
    };
    const began = Date.now();
    await apply(this.#cluster, route);
    return { began, ended: Date.now() };
  }

  /** Resolves when so many pods obey the last change, with when each of them did. */
  async obeyed(pods: number): Promise<readonly Obeyed[]> {
    for (const deadline = Date.now() + PATIENCE_MS; ; await delay(LOOK_MS)) {
      const all = (await this.changes()).filter(({ change }) => change === this.#change);
      if (all.length >= pods) return all;
      if (Date.now() > deadline) throw new Error(await this.#notObeyed(all.length, pods));
    }
  }

  /** Each change that a pod has seen, when it saw it first: on a new connection it prints the last one again. */
  async changes(): Promise<readonly Obeyed[]> {
    const lines = (await this.#lines('*')).matchAll(
      new RegExp(`/default_([^_/]+)_[^:]*:(\\S+) stdout F ${HEADER}: (\\d+)`, 'g'),
    );
    const first = new Map<string, Obeyed>();
    for (const [, pod = '', time = '', change] of lines) {
      const key = `${pod} ${change}`;
      if (!first.has(key)) first.set(key, { pod, change: Number(change), at: Date.parse(time) });
    }
    return [...first.values()];
  }

  /**
   * Of each change that began at one of these times: how long until the API server had stored the route, the file and the
   * last annotation of a pod, in milliseconds, and how many annotations there were.
   */
  async phases(starts: readonly number[]): Promise<readonly Phases[]> {
    const lines = (await readFile(this.#cluster.controlPlane.auditLogPath, 'utf8')).split('\n');
    const patches = lines
      .filter((line) => line.includes('"verb":"patch"'))
      .map((line) => JSON.parse(line) as Patch)
      .map(({ objectRef: { resource, subresource, name }, user, stageTimestamp }) => ({
        what: `${resource} ${subresource === undefined && user.username.endsWith(':envoy-initializer') ? name : ''}`,
        at: Date.parse(stageTimestamp),
      }));
    return starts.map((start, index) => {
      const end = starts[index + 1] ?? Number.POSITIVE_INFINITY;
      const after = patches.filter(({ at }) => at >= start && at < end);
      const times = (prefix: string) =>
        after.filter(({ what }) => what.startsWith(prefix)).map(({ at }) => at - start);
      const touches = times('pods w');
      return {
        stored: times('httproutes ')[0],
        written: times('configmaps envoy-routes')[0],
        annotated: touches.at(-1),
        annotations: touches.length,
      };
    });
  }

  /** What failed, of all pods. */
  async failures(): Promise<readonly string[]> {
    return (await this.#lines('*')).split('\n').filter((line) => line.includes(' F failed: '));
  }

  async counts(): Promise<LoadCounts> {
    const all = Array.from((await this.#lines('load')).matchAll(/ F counts: (.*)/g), ([, json = '']) => json);
    return JSON.parse(all.at(-1) ?? '{}');
  }

  /** How often containers of pods with a sidecar were started again. */
  async restarts(): Promise<number> {
    const list = ['get', 'pods', '-l', 'app in (watch,load)', '-o', 'json'];
    const { items } = JSON.parse(await kubectl(this.#cluster, list)) as {
      readonly items: readonly PodJson[];
    };
    return items
      .flatMap(({ status: { containerStatuses = [], initContainerStatuses = [] } }) => [
        ...containerStatuses,
        ...initContainerStatuses,
      ])
      .reduce((sum, { restartCount }) => sum + restartCount, 0);
  }

  /** One more pod that watches, with the default template, which policies inject. Resolves when it runs, with its name. */
  async startLate(): Promise<string> {
    await apply(this.#cluster, deployment('late', {}, WATCHER, 1));
    await this.#rolledOut('late');
    return (
      await kubectl(this.#cluster, 'get pods -l app=late -o jsonpath={.items[*].metadata.name}')
    ).trim();
  }

  async #notObeyed(some: number, all: number): Promise<string> {
    const route = await kubectl(this.#cluster, 'get httproute web -o jsonpath={.status}');
    const lines = (await this.#lines('*')).split('\n').filter((line) => !line.includes(' F counts: '));
    return `${some} of ${all} pods obey change ${this.#change}; the route: ${route}; the logs end with:\n${lines.slice(-20).join('\n')}`;
  }

  async #rolledOut(...names: readonly string[]): Promise<void> {
    for (const name of names)
      await kubectl(this.#cluster, `rollout status deployment/${name} --timeout=600s`);
  }

  /** The logs of pods of these applications, each line with its file before it. */
  async #lines(app: string): Promise<string> {
    const pods = `/proc/${this.#cluster.machine.pid}/root/var/log/pods`;
    const files: string[] = [];
    for await (const file of glob(`default_${app}-*/app/*.log`, { cwd: pods })) files.push(file);
    const texts = files.map(async (file) =>
      (await readFile(join(pods, file), 'utf8')).replaceAll(/^(?=.)/gm, `/${file}:`),
    );
    return (await Promise.all(texts)).join('');
  }
}

/** The spec of a pod that runs the script. */
function node(script: string, env: readonly object[], port?: number): object {
  const container = {
    name: 'app',
    image: 'envoy-initializer:0.0.1',
    command: ['/usr/local/bin/node', '-e', script],
    env,
    ...(port !== undefined && {
      readinessProbe: { httpGet: { port }, periodSeconds: 1, timeoutSeconds: 10 },
    }),
  };
  return { containers: [container] };
}

function service(name: string, app: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app }, ports: [{ port: 80, targetPort: 8080 }] },
  };
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Cluster } from '../env/cluster/cluster.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { eventually } from '../env/eventually.ts';
import { httpRouteCrds } from '../env/gateway-api-crds.ts';
import { OPTED_IN } from '../support/cluster/admission-load.ts';
import { apply, kubectl, podOf } from '../support/cluster/cluster-kubectl.ts';
import { stopCluster } from '../support/cluster/e2e-cluster.ts';
import { ask, HttpLoad, underLoad } from '../support/cluster/http-load.ts';
import { OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import {
  CAPTURED,
  deployment,
  MISTYPED,
  readyAt,
  service,
  serving,
  WITH_IPV6,
} from '../support/cluster/traffic-workloads.ts';
import { describeWithNode } from '../support/jest/describe-with-cluster.ts';

/** A first run builds the node and all images. */
const PREPARATION_MS = 60 * 60_000;
/** How long an application is rolled over: by default once through. */
const SOAK_MS = Number(process.env.E2E_SOAK_SECONDS ?? 0) * 1000;
jest.setTimeout(SOAK_MS + 300_000);

const deploy = join(projectDirectory(), 'deploy');
const examples = join(deploy, 'examples');
const VIA_ENVOY = /^ *server: envoy$/im;

let cluster: Cluster;

function run(args: string | readonly string[], input?: string): Promise<string> {
  return kubectl(cluster, args, input);
}

function say(text: string): void {
  process.stderr.write(`      ${text}\n`);
}

/** A shell's command line in a container of what kubectl names so: what it printed, and said. */
function inside(target: string, container: string, line: string): Promise<string> {
  return run(['exec', target, `--container=${container}`, '--', 'sh', '-c', `{ ${line}; } 2>&1`]);
}

/** An HTTP answer as it comes, headers and body. */
function fetchFrom(target: string, url: string): Promise<string> {
  return inside(target, 'app', `wget -S -O- ${url}`);
}

async function podsOf(selector: string): Promise<string[]> {
  const names = await run(`get pods --selector ${selector} -o jsonpath={.items[*].metadata.name}`);
  return names.split(' ').filter((name) => name !== '');
}

async function addressOf(pod: string): Promise<string> {
  return run(`get pod ${pod} -o jsonpath={.status.podIP}`);
}

function ipv6Of(address: string): string {
  return `[fd77::${address.split('.').at(-1)}]`;
}

/** From here. */
async function urlOf(name: string): Promise<string> {
  await run(['patch', 'service', name, '--patch', '{"spec":{"type":"NodePort"}}']);
  const port = await run(`get service ${name} -o jsonpath={.spec.ports[0].nodePort}`);
  return `http://${cluster.machine.address}:${port}/`;
}

describeWithNode('traffic', () => {
  let captured = '';
  const peer = 'plain';

  beforeAll(async () => {
    cluster = await startCluster({
      images: ['busybox', 'envoy', 'envoy-initializer', 'envoy-initializer-capture'],
      auditLog: 'Metadata',
    });
    await new OperatorInCluster({ kubectl: (...args) => cluster.kubectl(...args), own: cluster }).install();
    await run(`apply --server-side -k ${join(deploy, 'transparent')}`);
    await run(`apply -f ${join(examples, 'helloworld.yaml')}`);
    // Beside HTTP, an echo, and a server that speaks first.
    const others = 'nc -ll -p 9000 -e cat & nc -ll -p 9001 -e hostname &';
    const spec = { initContainers: [WITH_IPV6], containers: [serving('plain', [8080, 8083], others)] };
    await apply(
      cluster,
      podOf('plain', {}, spec, { labels: { app: 'plain' } }),
      service('plain', 8080, 8083),
    );
    await run('wait pod/plain --for=condition=Ready --timeout=120s');
    // It asks once, and at once: Envoy has to be there before it.
    const first = 'wget -S -O /dev/null http://plain:8080;';
    const app = {
      ...serving('captured', [8080, 8082], first),
      ...readyAt(8080),
      securityContext: { runAsUser: 1000 },
    };
    const web = { ...serving('web', ['127.0.0.1:8080']), ...readyAt(80) };
    await apply(
      cluster,
      deployment('captured', CAPTURED, { initContainers: [WITH_IPV6], containers: [app] }),
      service('captured', 8080),
      deployment('web', {}, { containers: [web] }),
      service('web', 80),
    );
    for (const name of ['captured', 'web']) await run(`rollout status deployment/${name} --timeout=180s`);
    await run('rollout status deployment/helloworld --namespace helloworld --timeout=180s');
    [captured = ''] = await podsOf('app=captured');
  }, PREPARATION_MS);

  afterAll(() => stopCluster(cluster));

  test('traffic goes through Envoy to an application that knows nothing of it, by its Service', async () => {
    const answer = await fetchFrom(peer, 'http://helloworld.helloworld');
    expect(answer).toMatch(VIA_ENVOY);
    expect(answer).toContain('Hello Kubernetes!');
  });

  test('traffic comes in by way of a transparent Envoy to the application’s own port, by IPv4 and IPv6', async () => {
    const address = await addressOf(captured);
    for (const host of ['captured', address, ipv6Of(address)]) {
      const answer = await fetchFrom(peer, `http://${host}:8080`);
      expect({ host, answer }).toEqual({ host, answer: expect.stringMatching(VIA_ENVOY) });
      expect(answer).toContain('captured');
    }
  });

  test('traffic goes out by way of a transparent Envoy, by IPv4 and IPv6', async () => {
    for (const host of ['plain', ipv6Of(await addressOf(peer))]) {
      const answer = await fetchFrom(captured, `http://${host}:8080`);
      expect({ host, answer }).toEqual({ host, answer: expect.stringMatching(VIA_ENVOY) });
      expect(answer).toContain('plain');
    }
  });

  test('traffic bypasses a transparent Envoy at excluded ports, and within the pod', async () => {
    for (const [from, url] of [
      [peer, `http://${await addressOf(captured)}:8082`],
      [captured, 'http://plain:8083'],
      [captured, 'http://127.0.0.1:8080'],
    ] as const) {
      const answer = await fetchFrom(from, url);
      expect({ url, answer }).toEqual({ url, answer: expect.stringMatching(/200 OK/) });
      expect(answer).not.toMatch(VIA_ENVOY);
    }
  });

  test('traffic through a transparent Envoy is whatever the application speaks', async () => {
    const old = await inside(
      captured,
      'app',
      "(printf 'GET / HTTP/1.0\\r\\n\\r\\n'; sleep 1) | nc plain 8080",
    );
    expect(old).toMatch(/^HTTP\/1\.[01] 200 OK\r\n.*plain\n$/s);
    const address = await addressOf(peer);
    expect(await inside(captured, 'app', `(echo any bytes; sleep 1) | nc ${address} 9000`)).toBe(
      'any bytes\n',
    );
    expect(await inside(captured, 'app', `sleep 3 | nc ${address} 9001`)).toBe('plain\n');
  });

  test('traffic that is meant for Envoy’s own ports does not go round in circles', async () => {
    const address = await addressOf(captured);
    const total = async () => {
      const stats = 'http://127.0.0.1:9901/stats?filter=listener.*downstream_cx_total';
      const lines = await inside(captured, 'envoy', `wget -qO- '${stats}'`);
      return [...lines.matchAll(/: (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const before = await total();
    for (const host of [address, ipv6Of(address)]) {
      for (const port of [15001, 15006]) {
        const answer = await inside(peer, 'app', `wget -O- http://${host}:${port} || echo refused`);
        expect(answer).toContain('refused');
      }
    }
    // Four connections, of which two come to the other listener, and what the kubelet asked meanwhile.
    expect((await total()) - before).toBeLessThan(50);
  });

  test('traffic is not captured otherwise by rules that are made again', async () => {
    const script = await readFile(join(deploy, 'envoy/capture.sh'), 'utf8');
    const save = "{ iptables-save -t nat; ip6tables-save -t nat; } | grep -v '^#' | sed 's/\\[.*//'";
    const again = 'EXCLUDE_INBOUND_PORTS=8082 EXCLUDE_OUTBOUND_PORTS=8083 sh -c "$1"';
    const line = `before="$(${save})"; ${again} && test "$before" = "$(${save})" && echo "$before"`;
    const container = ['--image=envoy-initializer-capture:0.0.1', '--profile=netadmin', '--container=again'];
    await run(['debug', captured, ...container, '--quiet', '--', 'sh', '-c', line, 'sh', script]);
    const ended = '{.status.ephemeralContainerStatuses[0].state.terminated}';
    await run(`wait pod/${captured} --for=jsonpath=${ended} --timeout=60s`);
    const rules = await run(`logs ${captured} --container=again`);
    for (const rule of [/-j REDIRECT --to-ports 15006/, /-A OUTPUT .*-j ENVOY_OUTBOUND/]) {
      const matching = rules.split('\n').filter((each) => rule.test(each));
      expect({ rules, matching }).toEqual({ rules, matching: [expect.anything(), expect.anything()] });
    }
  });

  test('traffic waits for a list of ports to be right, and the pod’s status says what is wrong', async () => {
    await apply(cluster, podOf('mistyped', {}, {}, { labels: OPTED_IN, annotations: MISTYPED }));
    const path = '{.status.initContainerStatuses[0].lastState.terminated.message}';
    await eventually(
      'the container has ended',
      async () => (await run(`get pod mistyped -o jsonpath=${path}`)) !== '',
    );
    expect(await run(`get pod mistyped -o jsonpath=${path}`)).toBe(
      'annotation initializer.kubernetes.io/envoy-exclude-inbound-ports: "8o" is not a port: write numbers from 1 to 65535, separated by commas\n',
    );
  });

  test('an application on a port of Envoy that it does not declare is told by an Event on its pod', async () => {
    const app = { command: ['httpd', '-f', '-p', '80'] };
    await apply(cluster, podOf('undeclared', app, {}, { labels: OPTED_IN }));
    const events = 'get events --field-selector=reason=SidecarFailed,involvedObject.name=undeclared';
    const told = () => run(`${events} -o jsonpath={.items[*].message}`);
    await eventually('the Event is there', async () => (await told()) !== '');
    expect(await told()).toMatch(
      /^container envoy ended with .*address already in use; move the application /i,
    );
  });

  test('traffic finds a transparent Envoy there as the application starts, and still when it ends', async () => {
    expect(await run(`logs ${captured} --container=app`)).toMatch(VIA_ENVOY);
    const { status } = JSON.parse(await run(`get pod ${captured} -o json`));
    const started = (
      list: readonly { name: string; state: { running: { startedAt: string } } }[],
      name: string,
    ) => Date.parse(list.find((one) => one.name === name)?.state.running.startedAt ?? '');
    expect(started(status.initContainerStatuses, 'envoy')).toBeLessThanOrEqual(
      started(status.containerStatuses, 'app'),
    );
    // It takes longer to end than Envoy would wait for on its own.
    const last = 'trap "sleep 12; wget -S -O /dev/null http://plain:8080; exit" TERM';
    const app = { name: 'app', command: ['sh', '-c', `${last}; echo ready; sleep 3600 & wait`] };
    await apply(cluster, podOf('ending', app, {}, { labels: OPTED_IN, annotations: CAPTURED }));
    await run('wait pod/ending --for=condition=Ready --timeout=120s');
    const [words] = await Promise.all([
      run('logs ending --container=app --follow'),
      run('delete pod ending --timeout=120s'),
    ]);
    expect(words).toMatch(VIA_ENVOY);
  });

  test('traffic of a client that follows HTTPRoutes is shared by them, as soon as the status says so', async () => {
    const inRoutes = (line: string) => run(`${line} --namespace=routes`);
    await run(`apply --server-side -k ${await httpRouteCrds()}`);
    await run('create namespace routes');
    await inRoutes(`apply -f ${join(examples, 'canary/app.yaml')}`);
    for (const name of ['app-v1', 'app-v2'])
      await inRoutes(`rollout status deployment/${name} --timeout=180s`);
    await inRoutes('wait pod/client --for=condition=Ready --timeout=120s');
    for (const [v1, v2] of [
      [90, 10],
      [0, 100],
    ] as const) {
      await inRoutes(`apply -f ${join(examples, `canary/route-${v1}-${v2}.yaml`)}`);
      await inUse('httproute/app', 'routes', `${v1}/${v2}`);
      const loop = 'for i in $(seq 400); do wget -qO- http://app; done | sort | uniq -c';
      const counts = await kubectl(cluster, [
        'exec',
        'client',
        '-n',
        'routes',
        '-c',
        'client',
        '--',
        'sh',
        '-c',
        loop,
      ]);
      const count = (version: string) => Number(new RegExp(`(\\d+) ${version}`).exec(counts)?.[1] ?? 0);
      say(`${count('v1')} to v1, ${count('v2')} to v2, of 400 at ${v1}/${v2}`);
      expect(count('v1') + count('v2')).toBe(400);
      // Five standard deviations of a share of 0.9.
      expect(Math.abs(count('v1') - 4 * v1)).toBeLessThanOrEqual(v1 === 0 ? 0 : 30);
    }
  });

  test('traffic does not fail while an application is rolled over under 50 requests a second', async () => {
    const names = ['web', 'captured'];
    const loads: HttpLoad[] = [];
    for (const name of names) {
      const url = await urlOf(name);
      expect((await ask(url)).headers.server).toBe('envoy');
      loads.push(new HttpLoad(url, 50));
    }
    const until = performance.now() + SOAK_MS;
    await underLoad(loads, async () => {
      do {
        const old = [...(await podsOf('app=web')), ...(await podsOf('app=captured'))];
        await run(`rollout restart ${names.map((name) => `deployment/${name}`).join(' ')}`);
        for (const name of names) await run(`rollout status deployment/${name} --timeout=180s`);
        await run(`wait ${old.map((name) => `pod/${name}`).join(' ')} --for=delete --timeout=120s`);
      } while (performance.now() < until);
    });
    for (const [index, load] of loads.entries()) {
      say(`${names[index]}: ${load.answered} requests, ${load.failures.length} failed`);
    }
    expect(loads.flatMap(({ failures }) => failures)).toEqual([]);
    expect(Math.min(...loads.map(({ answered }) => answered))).toBeGreaterThan(500);
  });
});

/** Waits until all sidecars have a route in its present form. */
async function inUse(route: string, namespace: string, what: string): Promise<void> {
  await eventually(`${what} is in use`, async () => {
    const { metadata, status } = JSON.parse(await run(`get ${route} --namespace=${namespace} -o json`));
    const conditions: readonly Record<string, unknown>[] = status?.parents[0]?.conditions ?? [];
    return conditions.some(
      ({ type, status, observedGeneration, message }) =>
        type === 'initializer.kubernetes.io/Programmed' &&
        status === 'True' &&
        observedGeneration === metadata.generation &&
        // That of the client, and those of the other pods with the template.
        message !== '1 of 1 sidecars' &&
        /^([1-9]\d*) of \1 sidecars$/.test(String(message)),
    );
  });
}

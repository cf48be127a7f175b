import type { Cluster } from '../../env/cluster/cluster.ts';
import { OPTED_IN } from './admission-load.ts';
import { apply, kubectl, podOf } from './cluster-kubectl.ts';
import { CAPTURED } from './traffic-workloads.ts';

const NAMESPACE = 'grpc';
const PORT = 7070;

/** A program of Node, in the operator's image, which has it. */
const program = (script: string, ...args: readonly string[]) => [
  '/usr/local/bin/node',
  '-e',
  script,
  ...args,
];

/**
 * A server of gRPC. It says its version and how often it has seen a call, and first fails as `x-fail` asks for:
 * `grpc:14:2` or `http:503:2` is so twice. `/Stream` holds a call until `/End` comes.
 */
const SERVER = `
const seen = new Map();
const held = new Set();
require('node:http2').createServer().on('stream', (stream, { ':path': path, 'x-call': id, 'x-fail': fail = '' }) => {
  stream.on('error', () => undefined).resume();
  const attempt = (seen.get(id) ?? 0) + 1;
  seen.set(id, attempt);
  const [kind, code, times] = fail.split(':');
  const said = { 'content-type': 'application/grpc', version: process.env.VERSION, attempt, held: held.size };
  if (attempt <= times) {
    const failed = kind === 'http' ? { ':status': code } : { ':status': 200, ...said, 'grpc-status': code };
    return stream.respond(failed, { endStream: true });
  }
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.respond({ ':status': 200, ...said }, { waitForTrailers: true });
  const end = () => stream.end(Buffer.alloc(5));
  if (path.endsWith('/Stream')) return held.add(end);
  if (path.endsWith('/End')) {
    for (const each of held) each();
    held.clear();
  }
  end();
}).listen(${PORT}, '::');`;

/** Makes calls one after another on one connection, and prints what came of each. */
const CLIENT = `
const [host, path, count, ...pairs] = process.argv.slice(1);
const session = require('node:http2').connect('http://' + host + ':${PORT}');
const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
for (const pair of pairs) Object.assign(headers, Object.fromEntries([pair.split('=')]));
const call = () => new Promise((resolve, reject) => {
  const found = {};
  const add = (given) => Object.assign(found, given);
  const stream = session.request(headers).on('response', add).on('trailers', add).on('error', reject);
  stream.on('close', () => resolve(found)).resume().end(Buffer.alloc(5));
});
(async () => {
  const all = [];
  for (let i = 0; i < count; i++) {
    const { ':status': http, 'grpc-status': status, version, attempt, held } = await call();
    all.push({ http, status: Number(status), version, attempt: Number(attempt), held: Number(held) });
  }
  console.log(JSON.stringify(all));
  session.close();
})();`;

/** What came of a call. */
export interface CanaryCall {
  readonly http: number;
  /** The number of the gRPC status. */
  readonly status: number;
  readonly version: string;
  /** How often the server has seen it. */
  readonly attempt: number;
  /** The streams that the server held. */
  readonly held: number;
}

/** Two versions of a server of gRPC, and a client with a sidecar. Both versions are behind the Service `echo`. */
export async function startGrpcCanary(cluster: Cluster): Promise<void> {
  const image = 'envoy-initializer:0.0.1';
  const metadata = (name: string, more: object = {}) => ({ namespace: NAMESPACE, name, ...more });
  const server = (version: string) =>
    podOf(
      version,
      {
        image,
        command: program(SERVER),
        env: [{ name: 'VERSION', value: version }],
        readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
      },
      {},
      metadata(version, { labels: { app: 'echo', version } }),
    );
  const service = (name: string, selector: object) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(name),
    spec: { selector, ports: [{ port: PORT, appProtocol: 'grpc' }] },
  });
  await kubectl(cluster, `create namespace ${NAMESPACE}`);
  await apply(
    cluster,
    service('echo', { app: 'echo' }),
    ...['v1', 'v2'].flatMap((version) => [server(version), service(version, { app: 'echo', version })]),
    podOf(
      'client',
      { image, command: program('setInterval(() => {}, 1e6)') },
      {},
      metadata('client', { labels: OPTED_IN, annotations: CAPTURED }),
    ),
  );
  await kubectl(cluster, `wait pod --all --for=condition=Ready --timeout=180s --namespace=${NAMESPACE}`);
}

/** A route of a kind for the Service `echo`, with one rule. */
export function echoRoute(kind: 'GRPCRoute' | 'HTTPRoute', rule: object): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind,
    metadata: { namespace: NAMESPACE, name: 'echo' },
    spec: { parentRefs: [{ group: '', kind: 'Service', name: 'echo' }], rules: [rule] },
  };
}

/** Backends of a rule by their weights. */
export function shares(v1: number, v2: number): object {
  const backend = (name: string, weight: number) => ({ name, port: PORT, weight });
  return { backendRefs: [backend('v1', v1), backend('v2', v2)] };
}

/** Calls of the client to a Service. */
export async function callsTo(
  cluster: Cluster,
  service: string,
  method: 'Say' | 'Stream' | 'End' = 'Say',
  count = 1,
  headers: Readonly<Record<string, string>> = {},
): Promise<readonly CanaryCall[]> {
  const pairs = Object.entries(headers).map((pair) => pair.join('='));
  const args = program(CLIENT, service, `/canary.Echo/${method}`, `${count}`, ...pairs);
  return JSON.parse(
    await kubectl(cluster, ['exec', 'client', `--namespace=${NAMESPACE}`, '--container=main', '--', ...args]),
  );
}

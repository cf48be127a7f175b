import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileRoutes, type RoutingInput } from '../../../src/addons/routes/compile/compile.ts';
import type { Service } from '../../../src/addons/routes/compile/route.ts';
import type { RouteFile } from '../../../src/addons/routes/compile/route-configuration.ts';
import { METRICS_PATH, METRICS_PORT, READINESS_PORT } from '../../../src/injection/envoy/files.ts';
import { REFUSAL, ROUTES_DIRECTORY, ROUTES_FILE } from '../../../src/injection/envoy/routed.ts';
import { eventually } from '../../env/eventually.ts';
import { ENVOY_CONFIGURATIONS } from './envoy-configurations.ts';
import { type EnvoyProcess, OUTBOUND_PORT, startEnvoy } from './envoy-process.ts';

/** What a backend saw. */
export interface Seen {
  /** The address at which the request came. */
  readonly at: string;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Undefined if no backend answered. */
  readonly seen?: Seen;
}

export interface Asked {
  readonly method?: string;
  /** With its query. */
  readonly path?: string;
  readonly headers?: readonly (readonly [string, string])[];
}

/**
 * A real Envoy with transparent.json, without the rights that capture needs: a connection says by the PROXY protocol
 * where it was going. Services are addresses of this machine, 127.0.1.1 and so on, with one server behind all of them.
 */
export class RoutingLab {
  readonly requests: Seen[] = [];
  /** The statuses of the next answers of the server, 0 for none. */
  readonly statuses: number[] = [];
  /** The status of the others. */
  status: (seen: Seen) => number = () => 200;
  readonly #envoy: EnvoyProcess;
  readonly #server: Server;
  readonly #directory: string;

  private constructor(envoy: EnvoyProcess, server: Server, directory: string) {
    this.#envoy = envoy;
    this.#server = server;
    this.#directory = directory;
    server.on('request', (request, response) => {
      const { method = '', url = '', headers } = request;
      const seen = { at: request.socket.localAddress ?? '', method, url, headers };
      this.requests.push(seen);
      const status = this.statuses.shift() ?? this.status(seen);
      // For tests of timeouts.
      if (url.includes('hang') || status === 0) return;
      response.statusCode = status;
      response.setHeader('given', 'by-the-backend').end(JSON.stringify(seen));
    });
  }

  static async start(program: string): Promise<RoutingLab> {
    const directory = await mkdtemp(join(tmpdir(), 'envoy-initializer-routes-'));
    const { text: none } = compileRoutes({ routes: [], services: new Map() }).file('');
    await writeFile(join(directory, ROUTES_FILE), none);
    const envoy = await startEnvoy(program, ENVOY_CONFIGURATIONS['transparent.json'] ?? {}, {
      [ROUTES_DIRECTORY]: directory,
      'extensions.filters.listener.original_dst.v3.OriginalDst':
        'extensions.filters.listener.proxy_protocol.v3.ProxyProtocol',
    });
    const server = createServer();
    server.listen(0, '::');
    await once(server, 'listening');
    return new RoutingLab(envoy, server, directory);
  }

  /** The port of every Service. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get output(): readonly string[] {
    return this.#envoy.output;
  }

  /** A Service at 127.0.1.NUMBER, and at ::1 if `isDual`. */
  service(namespace: string, name: string, number: number, port = this.port): Service {
    const clusterIPs = [`127.0.1.${number}`];
    return { metadata: { namespace, name }, spec: { type: 'ClusterIP', clusterIPs, ports: [{ port }] } };
  }

  /** Gives Envoy the routes of a namespace, and waits until it has taken them. */
  async apply(input: RoutingInput, clientNamespace: string): Promise<RouteFile> {
    const file = compileRoutes(input).file(clientNamespace);
    await this.take(file.text, file.version);
    return file;
  }

  /** Gives Envoy a file, and waits until it has taken it. */
  async take(content: string, version: string): Promise<void> {
    await this.write(content);
    await eventually('Envoy has the routes', async () => (await this.version()) === version);
  }

  async write(content: string): Promise<void> {
    const refusal = `127.0.0.1:${new URL(this.#envoy.url(Number(REFUSAL.split(':')[1]))).port}`;
    await writeFile(join(this.#directory, 'next'), content.replaceAll(REFUSAL, refusal));
    await rename(join(this.#directory, 'next'), join(this.#directory, ROUTES_FILE));
  }

  /** The version of the routes that Envoy runs. */
  async version(): Promise<string> {
    return (await fetch(`${this.#envoy.url(READINESS_PORT)}/routes`)).text();
  }

  /** The page that Prometheus reads. */
  async metrics(): Promise<string> {
    return (await fetch(`${this.#envoy.url(METRICS_PORT)}${METRICS_PATH}`)).text();
  }

  async statistic(name: string): Promise<number> {
    const stats = await (await fetch(`${this.#envoy.url(9901)}/stats?filter=${name}`)).text();
    return Number(/: (\d+)/.exec(stats)?.[1] ?? 0);
  }

  /** Sends one request by way of Envoy to an address that it was going to. */
  async ask(address: string, { method = 'GET', path = '/', headers = [] }: Asked = {}): Promise<Answer> {
    const socket = await this.connect(address);
    const host = headers.some(([name]) => name.toLowerCase() === 'host') ? [] : [['Host', 'a.test']];
    const lines = [...host, ['Connection', 'close'], ...headers].map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    let raw = '';
    // Envoy closes the connection a second after an answer of its own.
    for await (const part of socket) {
      raw += String(part);
      const answer = parseAnswer(raw);
      if (answer.body.length >= Number(answer.headers['content-length'])) break;
    }
    return parseAnswer(raw);
  }

  /** A connection by way of Envoy to an address that it was going to. */
  async connect(address: string): Promise<Socket> {
    const { hostname, port } = new URL(this.#envoy.url(OUTBOUND_PORT));
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const [, host = '', to = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
    const from = host.includes(':') ? 'TCP6 ::1' : 'TCP4 127.0.0.1';
    socket.write(`PROXY ${from} ${host} 4000 ${to}\r\n`);
    return socket;
  }

  async stop(): Promise<void> {
    await this.#envoy.stop();
    this.#server.closeAllConnections();
    this.#server.close();
    await rm(this.#directory, { recursive: true });
  }
}

function parseAnswer(raw: string): Answer {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const body = rest.join('\r\n\r\n');
  const status = Number(first.split(' ')[1]);
  const json = /^\{.*\}$/s.exec(body)?.[0];
  return { status, headers, body, ...(json !== undefined && { seen: JSON.parse(json) }) };
}

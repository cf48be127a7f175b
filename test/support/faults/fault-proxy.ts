import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, type Server, request as sendRequest } from 'node:https';
import { type Duplex, pipeline } from 'node:stream';
import type { KubeConfig } from '@kubernetes/client-node';
import type { CertificateAndKey } from '../../../src/certificates/x509/authority.ts';
import { kubeConfigOf } from '../kube/scripted-client.ts';
import { failure } from '../kube/scripted-server.ts';
import type { BodyFault, Fault, OutageKind } from './fault.ts';
import { FaultyBody } from './faulty-body.ts';
import { Gate, type GateState } from './gate.ts';

/** The server behind a proxy, and as whom the proxy comes to it. */
export interface Upstream {
  readonly server: string;
  readonly caPem: string;
  readonly user: CertificateAndKey;
}

/** A request that came by, and what happened to it. */
export interface ProxiedRequest {
  readonly method: string;
  readonly url: string;
  readonly fault: Fault;
  /** When it came, by performance.now(). */
  readonly at: number;
  /** Of the server's answer. */
  status?: number;
}

export interface FaultProxyOptions {
  readonly serving: CertificateAndKey;
  readonly caPem: string;
  readonly schedule: readonly Fault[];
  /** Where the server is asked in place of a path, for a client that is to see a part of it. */
  readonly view?: (url: string) => string;
  readonly rewrite?: Rewrite;
}

/** What the body of an answer to this URL passes through on its way; undefined where it is left as it is. */
export type Rewrite = (url: string) => Duplex | undefined;

/** A fault that is due has its effect at the latest after this, however little the watch has to say. */
const DUE_MS = 100;

const GATES: Readonly<Record<OutageKind, GateState>> = {
  refuse: 'closed',
  'no-handshake': 'mute',
  half: 'mute',
  blackhole: 'black hole',
};

/**
 * A proxy before a real API server, with TLS on both sides, that spoils what passes through it: the nth request meets
 * the nth fault of the schedule, and all after that are left in peace.
 */
export class FaultProxy {
  readonly #server: Server;
  readonly #gate: Gate;
  readonly #upstream: Upstream;
  readonly #agent: Agent;
  readonly #caPem: string;
  readonly #view: (url: string) => string;
  readonly #schedule: Fault[];
  readonly #afflicted = new Set<ServerResponse>();
  /** It said 410: what came before the next list is forgotten. */
  #forgotten = false;
  /** It said that it is behind: what is newer than nothing in particular it does not have. */
  #behind = false;
  /** Watches that are being answered and that no fault has met, and their answers. */
  readonly #healthy = new Map<IncomingMessage, ServerResponse>();
  readonly #rewrite: Rewrite | undefined;
  readonly #met: Fault[] = [];
  readonly #requests: ProxiedRequest[] = [];
  #back: NodeJS.Timeout | undefined;

  /** Asked for each request that no fault of the schedule meets. */
  always: (request: { readonly method: string; readonly url: string }) => Fault | undefined = () => undefined;

  private constructor(upstream: Upstream, options: FaultProxyOptions) {
    const { serving, caPem, schedule, view = (url) => url, rewrite } = options;
    this.#upstream = upstream;
    this.#caPem = caPem;
    this.#view = view;
    this.#schedule = [...schedule];
    this.#rewrite = rewrite;
    this.#agent = new Agent({
      ca: upstream.caPem,
      cert: upstream.user.certPem,
      key: upstream.user.keyPem,
      keepAlive: true,
    });
    this.#server = createServer({ cert: serving.certPem, key: serving.keyPem }, (request, response) =>
      this.#meet(request, response),
    );
    // No idle connection is closed from this side: what is left open stays open, and is seen.
    this.#server.keepAliveTimeout = 0;
    this.#gate = new Gate((socket) => this.#server.emit('connection', socket));
  }

  static async start(upstream: Upstream, options: FaultProxyOptions): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstream, options);
    await proxy.#gate.set('open');
    return proxy;
  }

  /** For a client of the proxy; the proxy itself says who it is. */
  get kubeConfig(): KubeConfig {
    return kubeConfigOf({ server: `https://127.0.0.1:${this.#gate.port}`, caData: btoa(this.#caPem) });
  }

  /** What came by, in order. */
  get requests(): readonly ProxiedRequest[] {
    return this.#requests;
  }

  /** The faults of the schedule that have met a request. */
  get met(): readonly Fault[] {
    return this.#met;
  }

  get pendingFaults(): number {
    return this.#schedule.length;
  }

  /** Answers open now that a fault has spoilt, or is about to. */
  get afflicted(): number {
    return this.#afflicted.size;
  }

  get openConnections(): number {
    return this.#gate.openConnections;
  }

  /** The next requests meet these faults. */
  schedule(...faults: readonly Fault[]): void {
    this.#schedule.push(...faults);
  }

  /** Begins an outage; what it returns ends it. Connections that came meanwhile are answered then where it is told so. */
  async outage(kind: OutageKind): Promise<(how?: { readonly answersHeld: boolean }) => Promise<void>> {
    const watches = [...this.#healthy.keys()].map(({ socket }) => socket.remotePort);
    this.#gate.cut(new Set(kind === 'half' ? watches : []));
    await this.#gate.set(GATES[kind]);
    return async ({ answersHeld } = { answersHeld: false }) => {
      await this.#gate.set('open');
      if (answersHeld) this.#gate.release();
    };
  }

  /** Cuts the watches that are being answered now, and that no fault has met. */
  cutHealthyWatches(): void {
    for (const request of this.#healthy.keys()) request.socket.destroy();
  }

  /** Sends lines to the watches that are being answered now, and that no fault has met. */
  say(text: string): void {
    for (const response of this.#healthy.values()) response.write(text);
  }

  async close(): Promise<void> {
    clearTimeout(this.#back);
    this.#schedule.length = 0;
    await this.outage('refuse');
    this.#agent.destroy();
  }

  #afflict(response: ServerResponse): void {
    this.#afflicted.add(response);
    response.on('close', () => this.#afflicted.delete(response));
  }

  #faultFor(method: string, url: string): Fault {
    const tellsAll = !isWatch(url);
    const version = versionAskedFor(url);
    if (tellsAll) this.#forgotten = false;
    else if (this.#forgotten) return { kind: 'status', code: 410 };
    if (tellsAll && version === '') this.#behind = false;
    else if (this.#behind && version !== '') return { kind: 'behind' };
    const fault = this.#schedule.shift() ?? this.always({ method, url }) ?? { kind: 'none' };
    this.#met.push(fault);
    if (fault.kind === 'status') this.#forgotten = fault.code === 410;
    if (fault.kind === 'insert') this.#forgotten = isWatch(url) && fault.text.includes('"code":410');
    if (fault.kind === 'behind') this.#behind = version !== '';
    return fault;
  }

  #meet(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '' } = request;
    const fault = this.#faultFor(method, url);
    const met: ProxiedRequest = { method, url, fault, at: performance.now() };
    this.#requests.push(met);
    response.on('finish', () => {
      met.status = response.statusCode;
    });
    switch (fault.kind) {
      case 'none':
        this.#pass(request, response);
        return;
      case 'delay':
        setTimeout(() => response.destroyed || this.#pass(request, response), fault.ms);
        return;
      case 'reset':
        request.socket.destroy();
        return;
      case 'hang':
        this.#afflict(response);
        return;
      case 'status':
        answer(response, failure(fault.code), fault.code, fault.retryAfter);
        return;
      case 'behind':
        answer(response, failure(504, TOO_LARGE), 504, 1);
        return;
      case 'refuse':
      case 'no-handshake':
      case 'half':
      case 'blackhole':
        this.#goAway(fault.kind, fault.ms);
        return;
      default:
        this.#afflict(response);
        this.#pass(request, response, fault);
    }
  }

  /** The request that met it is not answered. */
  #goAway(kind: OutageKind, ms: number): void {
    const away = this.outage(kind);
    const comeBack = async () => (await away)({ answersHeld: true });
    this.#back = setTimeout(() => void comeBack(), ms);
  }

  #pass(request: IncomingMessage, response: ServerResponse, fault?: BodyFault): void {
    const { server } = this.#upstream;
    const { method, url = '' } = request;
    const headers = { ...request.headers, host: new URL(server).host };
    const onward = sendRequest(`${server}${this.#view(url)}`, { method, headers, agent: this.#agent });
    onward.on('response', (answer) => {
      const { 'content-length': _, ...chunked } = answer.headers;
      const rewrite = this.#rewrite?.(url);
      response.writeHead(answer.statusCode ?? 502, fault || rewrite ? chunked : answer.headers);
      response.flushHeaders();
      answer.on('error', () => response.destroy());
      if (fault)
        this.#spoil(answer, response, new FaultyBody(response, fault, isWatch(url) ? 'lines' : 'kilobytes'));
      else {
        if (isWatch(url)) this.#healthy.set(request, response);
        // A client that hangs up ends the pipeline; the requests tell of that.
        if (rewrite) pipeline(answer, rewrite, response, () => undefined);
        else answer.pipe(response);
      }
    });
    onward.on('error', () => response.destroy());
    // Who asked has gone.
    response.on('close', () => {
      this.#healthy.delete(request);
      onward.destroy();
    });
    request.pipe(onward);
  }

  #spoil(answer: IncomingMessage, response: ServerResponse, body: FaultyBody): void {
    const due = setTimeout(() => body.strike(), DUE_MS);
    response.on('close', () => clearTimeout(due));
    answer.on('data', (chunk: Buffer) => body.write(chunk));
    answer.on('end', () => body.end());
  }
}

function answer(response: ServerResponse, status: object, code: number, retryAfter?: number): void {
  const headers = retryAfter === undefined ? {} : { 'retry-after': `${retryAfter}` };
  response.writeHead(code, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(status));
}

/** apiserver pkg/storage/errors.go, NewTooLargeResourceVersionError. */
const TOO_LARGE = {
  reason: 'Timeout',
  message: 'Too large resource version: 2, current: 1',
  details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
};

export function isWatch(url: string): boolean {
  return url.includes('watch=true');
}

/** The state that has to be had; empty where any will do, or the newest. */
export function versionAskedFor(url: string): string {
  const version = new URL(url, 'http://proxy').searchParams.get('resourceVersion') ?? '';
  return version === '0' ? '' : version;
}

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isNotFound } from '../../../src/kube/api/api-error.ts';
import { NETWORKS } from '../../../src/networks/api/resources.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { must, OPERATOR_NAMESPACE, type Operator, startOperator } from '../../env/operator.ts';
import type { FaultLab } from './fault-lab.ts';
import type { FaultProxy, ProxiedRequest } from './fault-proxy.ts';

export interface ProxiedOperatorOptions {
  readonly name: string;
  /** Where its lease is, and the Networks that it sees. */
  readonly namespace: string;
  readonly args?: readonly string[];
}

/** A write of the operator, and the milliseconds since it last renewed its lease. */
export interface TermWrite {
  readonly request: ProxiedRequest;
  readonly sinceRenewalMs: number;
}

/** The CRDs and the account without which no operator starts; no webhook. */
export async function prepareForOperators(controlPlane: ControlPlane): Promise<void> {
  const multus = join(projectDirectory(), 'test/env/control-plane/network-attachment-definition-crd.yaml');
  const networks = join(projectDirectory(), 'crd/networks.yaml');
  await must(controlPlane, ['apply', '-f', multus, '-f', networks]);
  await must(controlPlane, ['create', 'namespace', OPERATOR_NAMESPACE]);
  await must(controlPlane, ['create', 'serviceaccount', 'envoy-initializer', '-n', OPERATOR_NAMESPACE]);
}

/**
 * `serve` as a process that reaches a real API server by a proxy alone. It sees one namespace as if that were the whole
 * cluster, so that several can run side by side.
 */
export class ProxiedOperator {
  readonly namespace: string;
  readonly proxy: FaultProxy;
  readonly operator: Operator;
  readonly #lab: FaultLab;
  readonly #logFile: string;

  private constructor(
    lab: FaultLab,
    parts: { namespace: string; proxy: FaultProxy; operator: Operator; logFile: string },
  ) {
    this.#lab = lab;
    this.namespace = parts.namespace;
    this.proxy = parts.proxy;
    this.operator = parts.operator;
    this.#logFile = parts.logFile;
  }

  /** Resolves when it is ready. */
  static async start(
    controlPlane: ControlPlane,
    lab: FaultLab,
    { name, namespace, args = [] }: ProxiedOperatorOptions,
  ): Promise<ProxiedOperator> {
    const proxy = await lab.proxy([], { view: viewOf(namespace) });
    const kubeconfig = join(controlPlane.directory, `${name}.kubeconfig`);
    await writeFile(kubeconfig, proxy.kubeConfig.exportConfig());
    const logFile = join(controlPlane.directory, `${name}.log`);
    const operator = await startOperator(controlPlane, {
      name,
      log: logFile,
      isInstalled: true,
      ownCertificates: true,
      args: [`--kubeconfig=${kubeconfig}`, `--namespace=${namespace}`, '--policy=off', ...args],
    });
    return new ProxiedOperator(lab, { namespace, proxy, operator, logFile });
  }

  /** Past the proxy. */
  async createNetwork(name: string, index: number): Promise<void> {
    const range = `10.${index >> 8}.${index & 255}`;
    const network = {
      apiVersion: 'samplecrd.k8s.io/v1',
      kind: 'Network',
      metadata: { namespace: this.namespace, name },
      spec: { cidr: `${range}.0/24`, gateway: `${range}.1` },
    };
    await this.#lab.client.create(NETWORKS, network);
  }

  async isReady(name: string): Promise<boolean> {
    return isReady(await this.#lab.client.get(NETWORKS, { namespace: this.namespace, name }));
  }

  /** How many Networks are. */
  async ready(): Promise<number> {
    const { items } = await this.#lab.client.list(NETWORKS, { namespace: this.namespace });
    return items.filter((item) => isReady(NETWORKS.decode(item))).length;
  }

  /** The newest resourceVersion of its Networks. */
  async resourceVersion(): Promise<number> {
    const { resourceVersion } = await this.#lab.client.list(NETWORKS, { namespace: this.namespace });
    return Number(resourceVersion);
  }

  /** Deletes it; the operator has to let it go. */
  async deleteNetwork(name: string): Promise<void> {
    await this.#lab.client.delete(NETWORKS, { namespace: this.namespace, name });
  }

  async isGone(name: string): Promise<boolean> {
    return await this.#lab.client.get(NETWORKS, { namespace: this.namespace, name }).then(
      () => false,
      (error: unknown) => isNotFound(error),
    );
  }

  /** When the log says so, in milliseconds since 1970. */
  async logged(message: string): Promise<readonly number[]> {
    const lines = (await readFile(this.#logFile, 'utf8')).split('\n');
    return lines
      .filter((line) => line.includes(`"msg":"${message}"`))
      .map((line) => Date.parse(JSON.parse(line).time));
  }

  metrics(): Promise<string> {
    return fetch(`${this.operator.metricsUrl}/metrics`).then((response) => response.text());
  }

  /** What the leader wrote from this moment on, by performance.now(). */
  termWrites(from: number): readonly TermWrite[] {
    let renewedAt = Number.POSITIVE_INFINITY;
    const writes: TermWrite[] = [];
    for (const request of this.proxy.requests) {
      if (isLease(request) && request.method !== 'GET' && isOk(request)) renewedAt = request.at;
      if (request.at < from || !isTermWrite(request)) continue;
      writes.push({ request, sinceRenewalMs: request.at - renewedAt });
    }
    return writes;
  }

  /** Ends the process at once, as a crash does. */
  async kill(): Promise<void> {
    this.operator.process.kill('SIGKILL');
    await this.operator.process.exited;
    await this.proxy.close();
  }
}

function isReady({ status }: Network): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** Of Networks, which only a leader writes; Events and ConfigMaps are any replica's. */
export function isTermWrite(request: ProxiedRequest): boolean {
  return request.method !== 'GET' && /\/(networks|network-attachment-definitions)\b/.test(request.url);
}

export function isLease({ url }: Pick<ProxiedRequest, 'url'>): boolean {
  return url.startsWith('/apis/coordination.k8s.io/');
}

export function isOk({ status = 0 }: ProxiedRequest): boolean {
  return status >= 200 && status < 300;
}

/** Lists and watches of all namespaces are of this one. */
function viewOf(namespace: string): (url: string) => string {
  return (url) =>
    url.replace(
      /^(\/api\/v1|\/apis\/[^/]+\/v1)\/(networks|network-attachment-definitions|pods|configmaps)(?=\?|$)/,
      `$1/namespaces/${namespace}/$2`,
    );
}

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { ROUTES_CONFIG_MAP, type RoutesMap, TOUCH } from '../../../src/addons/routes/delivery/resources.ts';
import { READINESS_PORT } from '../../../src/injection/envoy/files.ts';
import { ROUTES_FILE } from '../../../src/injection/envoy/routed.ts';
import { formatStatus } from '../../../src/injection/status.ts';
import { CONFIG_MAPS, PODS } from '../../../src/kube/api/core-resources.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { Informer } from '../../../src/kube/cache/informer.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';

const STATUS = formatStatus({
  templates: [{ name: 'transparent', sha256: '0' }],
  added: { volumes: [ROUTES_CONFIG_MAP] },
  overlaid: {},
  moved: {},
  requests: {},
});

/** The version that a file of routes names; empty if it names none. */
export function versionOf(map: RoutesMap | undefined): string {
  return /"inline_string":"([0-9a-f]+)"/.exec(map?.data?.[ROUTES_FILE] ?? '')?.[1] ?? '';
}

/**
 * What a kubelet and Envoy do for pods that exist only in the API server: where the annotation of a pod changes, its
 * sidecar takes the file that the ConfigMap has at that moment. Without a change it keeps the file that it has.
 */
export class FakeSidecars {
  /** What went wrong with a ConfigMap at any time: it lost its file, or was deleted. */
  readonly violations: string[] = [];
  /** Touches of pods, by `namespace/name`. */
  readonly touches = new Map<string, number>();
  readonly #client: KubeClient;
  readonly #fromCache: boolean;
  readonly #stop = new AbortController();
  readonly #servers = new Map<string, Server>();
  readonly #addresses = new Map<string, string>();
  /** The version that runs at an address. */
  readonly #running = new Map<string, string>();
  readonly maps: Informer<RoutesMap>;
  readonly #pods: Informer<KubeObject>;
  #ended: Promise<unknown> = Promise.resolve();

  /** With `fromCache`, a kubelet reads ConfigMaps as this process saw them last, which costs no request. */
  constructor(client: KubeClient, { fromCache = false } = {}) {
    this.#client = client;
    this.#fromCache = fromCache;
    const shared = {
      client,
      clock: systemClock,
      onError: (error: unknown) => void this.violations.push(`${error}`),
    };
    this.maps = new Informer<RoutesMap>({
      ...shared,
      resource: CONFIG_MAPS,
      fieldSelector: `metadata.name=${ROUTES_CONFIG_MAP}`,
    });
    this.#pods = new Informer<KubeObject>({ ...shared, resource: PODS });
    const look = (map: RoutesMap) => {
      if (!map.data?.[ROUTES_FILE]?.includes('"domains":["*"]'))
        this.violations.push(`${map.metadata.namespace} has ${JSON.stringify(map.data)}`);
    };
    this.maps.addEventHandler({
      onAdd: look,
      onUpdate: (_, map) => look(map),
      onDelete: ({ metadata }) => void this.violations.push(`${metadata.namespace} was deleted`),
    });
    this.#pods.addEventHandler({
      onUpdate: (before, pod) => {
        if (before.metadata.annotations?.[TOUCH] !== pod.metadata.annotations?.[TOUCH]) void this.#mount(pod);
      },
      onDelete: ({ metadata: { namespace, name } }) => void this.#addresses.delete(`${namespace}/${name}`),
    });
  }

  async start(): Promise<void> {
    this.#ended = Promise.all([this.maps.run(this.#stop.signal), this.#pods.run(this.#stop.signal)]);
    await Promise.all([this.maps.waitForSync(this.#stop.signal), this.#pods.waitForSync(this.#stop.signal)]);
  }

  /** Creates a pod that runs, with a sidecar at this address of loopback, which several pods may share. */
  async add(namespace: string, name: string, address: string): Promise<void> {
    await this.#listen(address);
    this.#addresses.set(`${namespace}/${name}`, address);
    const metadata = {
      namespace,
      name,
      annotations: { 'initializer.kubernetes.io/envoy-status': STATUS },
    };
    // On no node: the garbage collector deletes pods of nodes that do not exist.
    const spec = {
      automountServiceAccountToken: false,
      containers: [{ name: 'app', image: 'app' }],
    };
    await this.#client.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec } as KubeObject);
    const status = { phase: 'Running', podIP: address, podIPs: [{ ip: address }] };
    await this.#client.mergePatch(PODS, { namespace, name }, { status }, { subresource: 'status' });
  }

  /** Whether all sidecars run the file of their namespace. */
  areCurrent(): boolean {
    return [...this.#addresses].every(([key, address]) => {
      const [namespace = ''] = key.split('/');
      const wanted = versionOf(this.maps.lister.get(`${namespace}/${ROUTES_CONFIG_MAP}`));
      return wanted !== '' && this.#running.get(address) === wanted;
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    for (const server of this.#servers.values()) {
      server.closeAllConnections();
      server.close();
    }
  }

  async #mount({ metadata: { namespace = '', name } }: KubeObject): Promise<void> {
    const key = `${namespace}/${name}`;
    this.touches.set(key, (this.touches.get(key) ?? 0) + 1);
    const map = this.#fromCache
      ? this.maps.lister.get(`${namespace}/${ROUTES_CONFIG_MAP}`)
      : await this.#client.get(CONFIG_MAPS, { namespace, name: ROUTES_CONFIG_MAP });
    this.#running.set(this.#addresses.get(key) ?? '', versionOf(map));
  }

  async #listen(address: string): Promise<void> {
    if (this.#servers.has(address)) return;
    // Envoy has the routes of no file at first.
    const server = createServer((_, response) => response.end(this.#running.get(address) ?? 'none'));
    this.#servers.set(address, server);
    server.listen(READINESS_PORT, address);
    await once(server, 'listening');
  }
}

import { type AttachedPort, socket } from './attach.ts';
import { leftOut, MAX_BYTES } from './left-out.ts';
import type { Entry } from './model.ts';
import type { ObjectKey } from './objects.ts';
import { inOrder } from './precedence.ts';
import {
  type HostList,
  type HostText,
  hostList,
  type Locate,
  portHost,
  type RouteFile,
  replaceHosts,
  routeFile,
} from './route-configuration.ts';

const FRAME_BYTES = routeFile(hostList([])).bytes;

/** The entries for one port, in no order, by the clients that they hold for. */
export interface Draft {
  readonly port: AttachedPort;
  readonly producers: Entry[];
  /** By client namespace. */
  readonly consumers: Map<string, Entry[]>;
}

/** A port with the routes that hold for clients in one namespace. */
export interface RoutedPort extends AttachedPort {
  /** Whether the routes are of the clients’ own namespace, and not of the Service’s. */
  readonly isConsumer: boolean;
  /** The namespaces in which consumer routes hold in place of producer routes. */
  readonly consumers: readonly string[];
  /** In the order in which a request is compared with them. */
  readonly entries: readonly Entry[];
}

/** For which clients a route holds: those everywhere but in these namespaces, or only those in them. */
export interface Reach {
  readonly isEverywhere: boolean;
  readonly namespaces: ReadonlySet<string>;
}

const NOWHERE: Reach = { isEverywhere: false, namespaces: new Set() };

/** A host, and the namespace whose routes it has. */
type PlacedHost = HostText & { readonly namespace: string };

/** The ports with routes, and their texts. A text is written once for all namespaces in which it is the same. */
export class PortTable {
  readonly #drafts: readonly Draft[];
  readonly #locate: Locate;
  /** By namespace whose file is not that of all others, the ports that differ in it. */
  readonly #own = new Map<string, (readonly [index: number, draft: Draft])[]>();
  readonly #ports = new Map<readonly Entry[], RoutedPort>();
  readonly #hosts = new Map<RoutedPort, PlacedHost>();
  readonly #files = new Map<string | undefined, RouteFile>();
  /** The hosts for clients in a namespace without routes of its own. */
  #common: HostList<PlacedHost> | undefined;
  #reaches: ReadonlyMap<ObjectKey, Reach> | undefined;

  constructor(drafts: ReadonlyMap<string, Draft>, locate: Locate) {
    this.#drafts = withoutTakenAddresses(
      [...drafts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, draft]) => draft),
    );
    this.#locate = locate;
    for (const [index, draft] of this.#drafts.entries()) {
      for (const namespace of draft.consumers.keys()) {
        const own = this.#own.get(namespace) ?? [];
        this.#own.set(namespace, own);
        own.push([index, draft]);
      }
    }
  }

  /** The ports with routes for clients in a namespace. */
  of(clientNamespace: string): readonly RoutedPort[] {
    return this.#drafts.flatMap((draft) => this.#port(draft, clientNamespace) ?? []);
  }

  /** Undefined if no routes of the port hold for clients in the namespace. */
  #port({ port, producers, consumers }: Draft, clientNamespace: string): RoutedPort | undefined {
    const own = consumers.get(clientNamespace);
    const entries = own ?? producers;
    if (entries.length === 0) return undefined;
    const known = this.#ports.get(entries);
    const routed = known ?? {
      ...port,
      isConsumer: own !== undefined,
      get consumers() {
        return [...consumers.keys()].sort();
      },
      entries: inOrder(entries),
    };
    this.#ports.set(entries, routed);
    return routed;
  }

  reach(route: ObjectKey): Reach {
    this.#reaches ??= reachesOf(this.#drafts);
    return this.#reaches.get(route) ?? NOWHERE;
  }

  file(clientNamespace: string): RouteFile {
    const file = this.#file(this.#own.has(clientNamespace) ? clientNamespace : undefined);
    return file.leftOut.has(clientNamespace) ? this.#file(clientNamespace) : file;
  }

  /** The file for a namespace, or for all that have no routes of their own. */
  #file(own: string | undefined): RouteFile {
    const known = this.#files.get(own);
    if (known) return known;
    this.#common ??= hostList(this.#drafts.map((draft) => this.#host(draft, '')));
    const differing = own === undefined ? [] : (this.#own.get(own) ?? []);
    const list = replaceHosts(
      this.#common,
      differing.map(([index, draft]) => [index, this.#host(draft, own ?? '')]),
    );
    const file = fileOf(list, own);
    this.#files.set(own, file);
    return file;
  }

  #host(draft: Draft, clientNamespace: string): PlacedHost | undefined {
    const port = this.#port(draft, clientNamespace);
    if (!port) return undefined;
    const namespace = port.isConsumer ? clientNamespace : port.namespace;
    const host = this.#hosts.get(port) ?? { ...portHost(port, port.entries, this.#locate), namespace };
    this.#hosts.set(port, host);
    return host;
  }
}

function fileOf(list: HostList<PlacedHost>, own: string | undefined): RouteFile {
  const room = MAX_BYTES - FRAME_BYTES;
  if (list.bytes <= room) return routeFile(list);
  const hosts = list.hosts.filter((host) => host !== undefined);
  const out = leftOut(hosts, own, room);
  return routeFile(hostList(hosts.filter(({ namespace }) => !out.has(namespace))), out);
}

function reachesOf(drafts: readonly Draft[]): ReadonlyMap<ObjectKey, Reach> {
  const reaches = new Map<ObjectKey, Reach>();
  const add = (entries: readonly Entry[], reach: Reach) => {
    for (const route of new Set(entries.map((entry) => entry.route))) {
      const known = reaches.get(route);
      reaches.set(route, known ? union(known, reach) : reach);
    }
  };
  for (const { producers, consumers } of drafts) {
    add(producers, { isEverywhere: true, namespaces: new Set(consumers.keys()) });
    for (const [namespace, entries] of consumers) {
      add(entries, { isEverywhere: false, namespaces: new Set([namespace]) });
    }
  }
  return reaches;
}

function union(a: Reach, b: Reach): Reach {
  const [wide, other] = a.isEverywhere ? [a, b] : [b, a];
  if (!wide.isEverywhere) return { ...a, namespaces: new Set([...a.namespaces, ...b.namespaces]) };
  const isLeft = (namespace: string) => other.namespaces.has(namespace) === other.isEverywhere;
  return { isEverywhere: true, namespaces: new Set([...wide.namespaces].filter(isLeft)) };
}

/** Envoy refuses all hosts if two have one address, as a Service and its successor may have in a cache. */
function withoutTakenAddresses(drafts: readonly Draft[]): readonly Draft[] {
  const taken = new Set<string>();
  return drafts.flatMap((draft) => {
    const { port } = draft;
    const addresses = port.addresses.filter((address) => !taken.has(socket(address, port.port)));
    for (const address of addresses) taken.add(socket(address, port.port));
    return addresses.length > 0 ? [{ ...draft, port: { ...port, addresses } }] : [];
  });
}

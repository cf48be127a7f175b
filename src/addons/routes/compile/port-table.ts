import type { ObjectKey } from '../../../kube/api/object.ts';
import { type AttachedPort, socket } from './attach.ts';
import type { Locate } from './envoy-route.ts';
import { leftOut, MAX_BYTES, type Part } from './left-out.ts';
import { type Entry, inOrder } from './model.ts';
import { emptyHostBytes, type HostText, portHost, type RouteFile, routeFile } from './route-configuration.ts';

/** What a file has for hosts. */
export const ROOM = MAX_BYTES - routeFile([]).bytes;

/** A route in the place of a draft. */
export interface PlacedRoute {
  readonly key: ObjectKey;
  readonly isGrpc: boolean;
  readonly entries: readonly Entry[];
  /** What its entries take at most. */
  readonly bytes: number;
  /** Why it is not read: set if it is not. */
  readonly unread?: string;
}

/** A port and its routes. */
export interface Draft {
  readonly port: AttachedPort;
  /**
   * By their namespace, in no order. Those of the port’s namespace (producers) hold for the clients in all namespaces that
   * have none of their own (consumers).
   */
  readonly routes: Map<string, PlacedRoute[]>;
}

/** At most what the host of a port takes. Nothing is written for that. */
export function hostBytes(port: AttachedPort, routes: readonly PlacedRoute[]): number {
  return routes.reduce((sum, { bytes }) => sum + bytes, emptyHostBytes(port));
}

/** The routes of a port that hold for clients in a namespace, and where they are. */
function holding({ port, routes }: Draft, clientNamespace: string) {
  const namespace = routes.has(clientNamespace) ? clientNamespace : port.namespace;
  return { namespace, routes: routes.get(namespace) };
}

function consumersOf({ port, routes }: Draft): readonly string[] {
  return [...routes.keys()].filter((namespace) => namespace !== port.namespace);
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

/** Clients in these namespaces; or, with `isForAll`, those in all others. */
export interface Clients {
  readonly isForAll: boolean;
  readonly namespaces: ReadonlySet<string>;
}

const NO_CLIENTS: Clients = { isForAll: false, namespaces: new Set() };

/** Stands for the namespaces without routes of their own, which have one file. */
const OTHERS = '';

/** Whether clients in a namespace are among them. */
export const isAmong = (namespace: string, { isForAll, namespaces }: Clients): boolean =>
  namespaces.has(namespace) !== isForAll;

/** The ports with routes, and their texts. A text is written once for all namespaces in which it is the same. */
export class PortTable {
  readonly #drafts: readonly Draft[];
  readonly #locate: Locate;
  /** By namespace whose file is not that of all others, the ports that differ in it. */
  readonly #own = new Map<string, (readonly [index: number, draft: Draft])[]>();
  readonly #routed = new Map<readonly PlacedRoute[], RoutedPort>();
  readonly #hosts = new Map<RoutedPort, HostText>();
  readonly #files = new Map<string, RouteFile>();
  /** Of {@link OTHERS}: the sizes, and the texts. */
  #parts: readonly (Part | undefined)[] | undefined;
  #common: readonly (HostText | undefined)[] | undefined;
  #clients: ReadonlyMap<ObjectKey, Clients> | undefined;

  constructor(drafts: ReadonlyMap<string, Draft>, locate: Locate) {
    this.#drafts = withoutTakenAddresses(
      [...drafts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, draft]) => draft),
    );
    this.#locate = locate;
    for (const [index, draft] of this.#drafts.entries()) {
      for (const namespace of consumersOf(draft)) {
        const own = this.#own.get(namespace) ?? [];
        this.#own.set(namespace, own);
        own.push([index, draft]);
      }
    }
  }

  /** The ports with routes for clients in a namespace, in a fixed order. */
  ports(clientNamespace: string): readonly RoutedPort[] {
    return this.#drafts.flatMap((draft) => this.#port(draft, clientNamespace) ?? []);
  }

  /** Undefined if no routes of the port hold for clients in the namespace. */
  #port(draft: Draft, clientNamespace: string): RoutedPort | undefined {
    const { namespace, routes } = holding(draft, clientNamespace);
    if (routes === undefined) return undefined;
    const known = this.#routed.get(routes);
    const routed = known ?? {
      ...draft.port,
      isConsumer: namespace !== draft.port.namespace,
      get consumers() {
        return consumersOf(draft).toSorted();
      },
      entries: inOrder(routes.flatMap(({ entries }) => entries)),
    };
    this.#routed.set(routes, routed);
    return routed;
  }

  /** The clients that a route holds for. */
  clients(route: ObjectKey): Clients {
    this.#clients ??= clientsOf(this.#drafts);
    return this.#clients.get(route) ?? NO_CLIENTS;
  }

  /** The file for the sidecars of a namespace. */
  file(clientNamespace: string): RouteFile {
    const file = this.#file(this.#nameOf(clientNamespace));
    return file.leftOut.has(clientNamespace) ? this.#file(clientNamespace) : file;
  }

  /** Writes the files of namespaces, a host in each step. Else they are written when they are asked for. */
  *prepare(clientNamespaces: Iterable<string>): Generator<void, void> {
    for (const name of new Set([...clientNamespaces].map((each) => this.#nameOf(each)))) {
      const { out, mayFit } = this.#estimate(name);
      for (const draft of this.#drafts) {
        const port = this.#port(draft, name);
        if (!port || this.#hosts.has(port) || !(mayFit || isIn(draft, name, out))) continue;
        this.#host(draft, name);
        yield;
      }
      this.#file(name);
      yield;
    }
  }

  /** Names the file for a namespace. */
  #nameOf(clientNamespace: string): string {
    return this.#own.has(clientNamespace) ? clientNamespace : OTHERS;
  }

  #file(name: string): RouteFile {
    const known = this.#files.get(name);
    if (known) return known;
    const { out, mayFit } = this.#estimate(name);
    let file = mayFit ? routeFile(this.#all(name)) : undefined;
    if (file === undefined || file.bytes > MAX_BYTES) {
      // Of those that have no place, no text is written.
      const hosts = this.#drafts.filter((draft) => isIn(draft, name, out));
      file = routeFile(
        hosts.flatMap((draft) => this.#host(draft, name) ?? []),
        out,
      );
    }
    this.#files.set(name, file);
    return file;
  }

  /** All hosts of a file. It has those of all others but for a few. */
  #all(name: string): readonly HostText[] {
    this.#common ??= this.#drafts.map((draft) => this.#host(draft, OTHERS));
    const hosts = [...this.#common];
    for (const [index, draft] of this.#own.get(name) ?? []) hosts[index] = this.#host(draft, name);
    return hosts.filter((host) => host !== undefined);
  }

  /** Which namespaces have no place in a file by the size that each port takes at most, and whether all may have one. */
  #estimate(name: string): { readonly out: RouteFile['leftOut']; readonly mayFit: boolean } {
    this.#parts ??= this.#drafts.map((draft) => partOf(draft, OTHERS));
    const all = [...this.#parts];
    for (const [index, draft] of this.#own.get(name) ?? []) all[index] = partOf(draft, name);
    const parts = all.filter((part) => part !== undefined);
    // Sizes are estimated with the longest addresses, and are less than twice what is written.
    const mayFit = parts.reduce((sum, { bytes }) => sum + bytes, 0) < 2 * ROOM;
    return { out: leftOut(parts, name, ROOM), mayFit };
  }

  #host(draft: Draft, clientNamespace: string): HostText | undefined {
    const port = this.#port(draft, clientNamespace);
    if (!port) return undefined;
    const host = this.#hosts.get(port) ?? portHost(port, port.entries, this.#locate);
    this.#hosts.set(port, host);
    return host;
  }
}

function isIn(draft: Draft, clientNamespace: string, out: RouteFile['leftOut']): boolean {
  return !out.has(holding(draft, clientNamespace).namespace);
}

function partOf(draft: Draft, clientNamespace: string): Part | undefined {
  const { routes, namespace } = holding(draft, clientNamespace);
  return routes ? { namespace, bytes: hostBytes(draft.port, routes) } : undefined;
}

/** For each route, the clients that it holds for on one of its ports. */
function clientsOf(drafts: readonly Draft[]): ReadonlyMap<ObjectKey, Clients> {
  const all = new Map<ObjectKey, Clients>();
  const add = (routes: readonly PlacedRoute[], clients: Clients) => {
    for (const { key } of routes) {
      const known = all.get(key);
      all.set(key, known ? eitherOf(known, clients) : clients);
    }
  };
  for (const draft of drafts) {
    for (const [namespace, routes] of draft.routes) {
      const isForAll = namespace === draft.port.namespace;
      add(routes, { isForAll, namespaces: new Set(isForAll ? consumersOf(draft) : [namespace]) });
    }
  }
  return all;
}

function eitherOf(a: Clients, b: Clients): Clients {
  if (!a.isForAll)
    return b.isForAll ? eitherOf(b, a) : { ...a, namespaces: new Set([...a.namespaces, ...b.namespaces]) };
  return {
    ...a,
    namespaces: new Set([...a.namespaces].filter((each) => b.namespaces.has(each) === b.isForAll)),
  };
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

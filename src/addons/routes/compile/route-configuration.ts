import { createHash } from 'node:crypto';
import { NO_ROUTES, PATIENCE, routesFile } from '../../../injection/envoy/routed.ts';
import type { JsonObject } from '../../../util/json.ts';
import { type AttachedPort, socket } from './attach.ts';
import { bytesOf } from './entry-bytes.ts';
import { type Locate, routesOf } from './envoy-route.ts';
import { type Entry, targetsOf } from './model.ts';

/** A file that Envoy reads its routes from. */
export interface RouteFile {
  /** Put together each time it is read: one for each of many namespaces would take too much memory. */
  readonly text: string;
  /** Of the text. */
  readonly bytes: number;
  /** Names the content. An Envoy that has taken it answers with this at `/routes` of its readiness port. */
  readonly version: string;
  /** The namespaces whose routes had no place, and how many bytes they would take. */
  readonly leftOut: ReadonlyMap<string, number>;
}

/** The routes of one port of a Service, as text: the same text goes into the files of many namespaces. */
export interface HostText {
  readonly text: string;
  readonly hash: string;
  /** With what separates it from the next one. */
  readonly bytes: number;
}

/** A comma and the end of a line. */
const SEPARATOR_BYTES = 2;

/** The file for hosts. */
export function routeFile(hosts: readonly HostText[], leftOut: RouteFile['leftOut'] = new Map()): RouteFile {
  const version = hash([NO_ROUTES, ...hosts.map((host) => host.hash)].join('\n'));
  return {
    get text() {
      return routesFile(
        hosts.map(({ text }) => text),
        version,
      );
    },
    bytes: hosts.reduce((sum, { bytes }) => sum + bytes, Buffer.byteLength(routesFile([], version))),
    version,
    leftOut,
  };
}

/** By its first entry, the host that was written last, and from what: a change of one route leaves the others. */
const written = new WeakMap<Entry, { readonly from: readonly unknown[]; readonly host: HostText }>();

/** The host of a port: its entries in their order. A request that none of them matches gets 404 from Envoy. */
export function portHost(port: AttachedPort, entries: readonly Entry[], locate: Locate): HostText {
  const parts = entries.flatMap((entry) => [entry, ...targetsOf(entry.action).map(locate)]);
  const from: readonly unknown[] = [port.service, port.port, ...port.addresses, ...parts];
  const [first] = entries;
  const known = first && written.get(first);
  if (known?.from.length === from.length && known.from.every((each, index) => each === from[index])) {
    return known.host;
  }
  const routes = entries.flatMap((entry) => routesOf(entry, port.port, locate));
  const text = JSON.stringify(hostOf(port, routes));
  const host = { text, hash: hash(text), bytes: Buffer.byteLength(text) + SEPARATOR_BYTES };
  if (first) written.set(first, { from, host });
  return host;
}

function hostOf(port: AttachedPort, routes: readonly JsonObject[]): JsonObject {
  const domains = port.addresses.map((address) => socket(address, port.port));
  // The retry policy is here, and not in each route, because the file has a maximum size.
  return { name: `${port.service}:${port.port}`, domains, routes, retry_policy: PATIENCE };
}

const NAMELESS_BYTES =
  bytesOf(hostOf({ service: '', namespace: '', port: 0, addresses: [] }, [])) + SEPARATOR_BYTES;

/** At most what the host of a port takes without entries. It is asked for all ports at once, so nothing is written. */
export function emptyHostBytes({ service, port, addresses }: AttachedPort): number {
  const quoted = addresses.map((address) => socket(address, port).length + 3);
  return quoted.reduce((sum, length) => sum + length, NAMELESS_BYTES + service.length + `${port}`.length);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

import { createHash } from 'node:crypto';
import { PATIENCE } from '../../../injection/envoy/parts.ts';
import { NO_ROUTES, routesFile } from '../../../injection/envoy/routed.ts';
import type { JsonObject } from '../../../util/json.ts';
import { type AttachedPort, socket } from './attach.ts';
import { bytesOf } from './entry-bytes.ts';
import { type Locate, routesOf } from './entry-configuration.ts';
import type { Entry } from './model.ts';

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

/** Hosts in their order, and what a file has of each: its line in what the version is made of. Undefined: none here. */
export interface HostList {
  readonly hosts: readonly (HostText | undefined)[];
  readonly lines: readonly string[];
  readonly bytes: number;
}

const lineOf = (host: HostText | undefined) => (host ? `\n${host.hash}` : '');

export function hostList(hosts: HostList['hosts']): HostList {
  const bytes = hosts.reduce((sum, host) => sum + (host?.bytes ?? 0), 0);
  return { hosts, lines: hosts.map(lineOf), bytes };
}

/** A list with other hosts at some places. */
export function replaceHosts(
  list: HostList,
  changes: readonly (readonly [index: number, host: HostText | undefined])[],
): HostList {
  const [hosts, lines] = [[...list.hosts], [...list.lines]];
  let { bytes } = list;
  for (const [index, host] of changes) {
    bytes += (host?.bytes ?? 0) - (hosts[index]?.bytes ?? 0);
    hosts[index] = host;
    lines[index] = lineOf(host);
  }
  return { hosts, lines, bytes };
}

/** The file for hosts. */
export function routeFile(
  { hosts, lines, bytes }: HostList,
  leftOut: RouteFile['leftOut'] = new Map(),
): RouteFile {
  const version = hash(NO_ROUTES + lines.join(''));
  return {
    get text() {
      const texts = hosts.flatMap((host) => host?.text ?? []);
      return routesFile(texts, version);
    },
    bytes: bytes + Buffer.byteLength(routesFile([], version)),
    version,
    leftOut,
  };
}

/** The host of a port: its entries in their order. A request that none of them matches gets 404 from Envoy. */
export function portHost(port: AttachedPort, entries: readonly Entry[], locate: Locate): HostText {
  const routes = entries.flatMap((entry) => routesOf(entry, port.port, locate));
  const text = JSON.stringify(hostOf(port, routes));
  return { text, hash: hash(text), bytes: Buffer.byteLength(text) + SEPARATOR_BYTES };
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

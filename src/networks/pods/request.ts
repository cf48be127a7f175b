import ipaddr from 'ipaddr.js';
import { isDnsLabel } from '../../injection/podspec/names.ts';
import { quote } from '../../util/clip.ts';
import { isArray, type JsonObject, type JsonValue, own } from '../../util/json.ts';
import { suggest } from '../../util/suggest.ts';
import { PORT_KEY, SECURITY_GROUPS_KEY } from '../api/names.ts';
import { type NetworkAccess, OPEN_ACCESS } from './network-access.ts';
import {
  keyOfSelected,
  MAX_ADDRESS,
  MAX_ADDRESSES,
  type NetworkSelection,
  type Problem,
  parseSelection,
} from './selection.ts';

/** Interfaces that each pod has. */
export const TAKEN_INTERFACES: readonly JsonValue[] = ['lo', 'eth0'];
/** Linux gives an interface no multicast address, and not zero. */
const MAC = /^(?!00(:00){5})[0-9a-f][02468ace](:[0-9a-f]{2}){5}$/i;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** The most security groups of a pod on one Network. */
const MAX_GROUPS = 16;

export const ADDRESSES = `a list of at most ${MAX_ADDRESSES} addresses with prefix length, such as ["192.168.7.7/16"]`;

/** Rules for the options of the operator's annotation, and their text in messages. Multus checks the others. */
const RULES: Readonly<Record<string, readonly [is: (value: JsonValue) => boolean, must: string]>> = {
  namespace: [(value) => value === '' || isName(value), 'the name of a namespace'],
  interface: [
    (value) => isName(value) && String(value).length <= 15 && !TAKEN_INTERFACES.includes(value),
    'a name such as net1',
  ],
  mac: [matches(MAC), 'a unicast MAC address, such as 02:00:00:00:00:07'],
  ips: [areAddresses, ADDRESSES],
  [PORT_KEY]: [matches(UUID), 'the ID of a Neutron port'],
  [SECURITY_GROUPS_KEY]: [
    (value) => isArray(value) && value.length <= MAX_GROUPS && value.every(matches(UUID)),
    `a list of at most ${MAX_GROUPS} Neutron security group IDs`,
  ],
};

/** The keys of Multus (network-attachment-definition-client, NetworkSelectionElement), and those of the operator. */
export const KEYS: readonly string[] = [
  ...['name', ...Object.keys(RULES)],
  ...['interfaceRequest', 'portMappings', 'bandwidth', 'cni-args', 'default-route', 'infiniband-guid'],
];

/** What to tell the author of a valid annotation: keys without effect that resemble one, as ends of sentences. */
export function hintsFor({ networks }: NetworkSelection): readonly string[] {
  return networks.flatMap(({ name, element }) =>
    Object.keys(element).flatMap((key) => {
      const meant = KEYS.includes(key) ? undefined : suggest(key, KEYS);
      return meant === undefined
        ? []
        : [`has the key ${quote(key)}, which has no effect, for ${quote(name)}: did you mean ${meant}?`];
    }),
  );
}

/**
 * Parses and checks the annotation with which a pod asks for Networks. It may name Networks of other namespaces if
 * they are shared, as in Multus' namespace isolation.
 */
export function parseRequest(
  text: string | Problem,
  podNamespace: string,
  access: NetworkAccess,
): NetworkSelection | Problem {
  const selection = parseSelection(text, podNamespace);
  if ('problem' in selection) return selection;
  if (selection.networks.length === 0)
    return { problem: 'names no Network: name one, or remove the annotation' };
  const seen = new Set<string>();
  for (const { element, ...selected } of selection.networks) {
    const key = keyOfSelected({ element, ...selected });
    const problem =
      elementProblem(element) ??
      (seen.has(key) ? `names Network ${key} twice: name it once` : undefined) ??
      (access.allows(podNamespace, key)
        ? undefined
        : `names a Network in namespace ${selected.namespace}, which pods in namespace ${podNamespace} are not allowed to use: name one in ${podNamespace}`);
    if (problem !== undefined) return { problem };
    seen.add(key);
  }
  return selection;
}

/** What is wrong with a network of the operator's annotation, whatever Networks there are. */
function elementProblem(element: JsonObject): string | undefined {
  const name = own(element, 'name') ?? null;
  if (!isName(name)) {
    return `names ${quote(name)}, which is not a valid Network name: use at most 63 characters from a-z, 0-9 and "-"`;
  }
  for (const [key, [is, must]] of Object.entries(RULES)) {
    const value = own(element, key);
    if (value !== undefined && !is(value)) return `sets ${key} to ${quote(value)}: use ${must}`;
  }
  return undefined;
}

/** Keys of the Networks that the annotation names and the pod may use; none if the annotation is invalid. */
export function networksAskedFor(
  asked: string | undefined,
  podNamespace: string,
  access: NetworkAccess,
): readonly string[] {
  // A forbidden name does not remove the others.
  const request = asked === undefined ? undefined : parseRequest(asked, podNamespace, OPEN_ACCESS);
  const keys = request && 'networks' in request ? request.networks.map(keyOfSelected) : [];
  return keys.filter((key) => access.allows(podNamespace, key));
}

function isName(value: JsonValue): boolean {
  return typeof value === 'string' && isDnsLabel(value);
}

function matches(form: RegExp): (value: JsonValue) => boolean {
  return (value) => typeof value === 'string' && form.test(value);
}

export function areAddresses(value: JsonValue): boolean {
  return isArray(value) && value.length <= MAX_ADDRESSES && value.every(isAddress);
}

/** Whether Multus, which is in Go, reads it as an address: ipaddr.js reads also 10.7, 0x0a000007 and zones. */
function isAddress(value: JsonValue): boolean {
  if (typeof value !== 'string' || value.length > MAX_ADDRESS) return false;
  const [, plain = '', prefix = '0'] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(value) ?? [];
  if (plain.includes(':')) return Number(prefix) <= 128 && ipaddr.IPv6.isValid(plain);
  return (
    Number(prefix) <= 32 &&
    /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/.test(plain) &&
    ipaddr.IPv4.isValid(plain)
  );
}

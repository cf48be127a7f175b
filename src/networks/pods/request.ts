import ipaddr from 'ipaddr.js';
import { isDnsLabel, isDnsSubdomain } from '../../injection/podspec/names.ts';
import { quote } from '../../util/clip.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own } from '../../util/json.ts';
import { suggest } from '../../util/suggest.ts';
import { CLAIM_KEY, claimOf, ipsOf } from '../addresses/request.ts';
import { PORT_KEY, SECURITY_GROUPS_KEY } from '../api/names.ts';
import type { NetworkAccess } from './network-access.ts';
import {
  keyOfSelected,
  MAX_ADDRESS,
  MAX_ADDRESSES,
  type Overlong,
  type Problem,
  parseSelection,
  type Selection,
} from './selection.ts';

/** Interfaces that each pod has. */
export const TAKEN_INTERFACES: readonly string[] = ['lo', 'eth0'];
/** Linux gives an interface no multicast address, and not zero. */
const MAC = /^(?!00(:00){5})[0-9a-f][02468ace](:[0-9a-f]{2}){5}$/i;

/** The most security groups of a pod on one Network. */
const MAX_GROUPS = 16;

/** Rules for options, and their text in messages. */
type Rules = Readonly<Record<string, readonly [is: (value: JsonValue) => boolean, must: string]>>;

/** Multus cannot read an annotation with another value, also where it is of a network that the operator does not know. */
const READABLE: Rules = {
  ...Object.fromEntries(
    ['namespace', 'interface', 'interfaceRequest', CLAIM_KEY].map((key) => [key, [isText, 'a name']]),
  ),
  mac: [
    (value) => value === '' || (isHardwareAddress(value) && !/^.[13579bdf]/i.test(String(value))),
    'a MAC address of one interface, such as 02:00:00:00:00:07',
  ],
  [PORT_KEY]: [isUuid, 'the ID of a port in Neutron'],
  [SECURITY_GROUPS_KEY]: [
    (value) => isArray(value) && value.length <= MAX_GROUPS && value.every(isUuid),
    `a list of at most ${MAX_GROUPS} IDs of security groups in Neutron`,
  ],
  ips: [
    (value) => isArray(value) && value.length <= MAX_ADDRESSES && value.every(isAddress),
    `a list of at most ${MAX_ADDRESSES} addresses with their prefix length, such as ["192.168.7.7/16"]`,
  ],
  'default-route': [
    (value) => isArray(value) && value.every((each) => isAddress(each) && !String(each).includes('/')),
    'a list of addresses without a prefix length, such as ["192.168.0.1"]',
  ],
  portMappings: [
    (value) => isArray(value) && value.every((each) => hasNumbers(each, ['hostPort', 'containerPort'])),
    'a list of objects such as {"hostPort": 8080, "containerPort": 80}',
  ],
  bandwidth: [
    (value) => hasNumbers(value, ['ingressRate', 'ingressBurst', 'egressRate', 'egressBurst']),
    'an object such as {"ingressRate": 1000000}',
  ],
  'cni-args': [isObject, 'an object'],
  'infiniband-guid': [
    (value) => value === '' || isHardwareAddress(value),
    'a GUID such as c2:11:22:33:44:55:66:77',
  ],
};

/** The rules of the operator's annotation. */
const RULES: Rules = {
  ...READABLE,
  namespace: [(value) => value === '' || isName(value), 'the name of a namespace'],
  interface: [isInterfaceName, 'a name for an interface, such as net1'],
  // Of Multus before version 4.
  interfaceRequest: [() => false, 'the key interface instead'],
  mac: [
    (value) => typeof value === 'string' && MAC.test(value),
    'a MAC address of one interface, such as 02:00:00:00:00:07',
  ],
  [CLAIM_KEY]: [
    (value) => typeof value === 'string' && isDnsSubdomain(value),
    'the name of an IPAMClaim of the same namespace',
  ],
};

/** The keys of Multus (network-attachment-definition-client, NetworkSelectionElement), and those of the operator. */
const KEYS: readonly string[] = ['name', ...Object.keys(RULES)];
/** Multus is in Go, whose JSON folds the case of keys, so that also the long s is an s. */
const folded = (key: string) => key.toLowerCase().toUpperCase();
const BY_FOLDED_KEY: ReadonlyMap<string, string> = new Map(KEYS.map((key) => [folded(key), key]));

/** A key that Multus takes for another one, so that the pod would get something else than the operator sees. */
export function misreadKey(element: JsonObject): string | undefined {
  for (const key of Object.keys(element)) {
    const known = BY_FOLDED_KEY.get(folded(key));
    if (known !== undefined && known !== key)
      return `has the key ${quote(key)}, which Multus reads as ${known}: write ${known}`;
  }
  return undefined;
}

/** What to tell the author of a valid annotation: keys without effect that resemble one, as ends of sentences. */
export function hintsFor({ networks }: Selection): readonly string[] {
  return networks.flatMap(({ name, element }) =>
    Object.keys(element).flatMap((key) => {
      const meant = KEYS.includes(key) ? undefined : suggest(key, KEYS);
      return meant === undefined
        ? []
        : [`has the key ${quote(key)} for ${quote(name)}, which has no effect: did you mean ${meant}?`];
    }),
  );
}

/**
 * Parses and checks the annotation with which a pod asks for Networks. It may name Networks of other namespaces if
 * they are shared, as in Multus' namespace isolation.
 */
export function parseRequest(
  text: string | Overlong,
  podNamespace: string,
  access: NetworkAccess,
): Selection | Problem {
  const selection = parseSelection(text, podNamespace);
  if ('problem' in selection) return selection;
  if (selection.networks.length === 0)
    return { problem: 'names no Network: write one, or remove the annotation' };
  const seen = new Set<string>();
  for (const selected of selection.networks) {
    const key = keyOfSelected(selected);
    const problem =
      elementProblem(selected.element) ??
      (seen.has(key) ? `names Network ${key} twice: write it once` : undefined) ??
      (access.allows(podNamespace, key) ? undefined : isolationProblem(selected.namespace, podNamespace));
    if (problem !== undefined) return { problem };
    seen.add(key);
  }
  return selection;
}

/** What is wrong with a network of an annotation, whatever Networks there are. */
function elementProblem(element: JsonObject): string | undefined {
  const name = own(element, 'name') ?? null;
  if (!isName(name)) {
    return `has ${quote(name)}, which is not a valid name of a Network: write at most 63 of a-z, 0-9 and "-"`;
  }
  const wrong = wrongOption(element, RULES);
  if (wrong !== undefined) return wrong;
  if (claimOf(element) !== undefined && ipsOf(element).length > 0) {
    return `has ips and ${CLAIM_KEY} of ${quote(name)}: write one of them`;
  }
  return undefined;
}

/** Why Multus cannot read a network of its annotation. Null is nothing to it. */
export function unreadableOption(element: JsonObject): string | undefined {
  return wrongOption(
    Object.fromEntries(Object.entries(element).filter(([, value]) => value !== null)),
    READABLE,
  );
}

function wrongOption(element: JsonObject, rules: Rules): string | undefined {
  for (const [key, [is, must]] of Object.entries(rules)) {
    const value = own(element, key);
    if (value !== undefined && !is(value)) return `has ${quote(value)} as ${key}: write ${must}`;
  }
  return undefined;
}

function isolationProblem(namespace: string, podNamespace: string): string {
  return `names a Network of namespace ${namespace}, which pods of namespace ${podNamespace} may not use: write a Network of ${podNamespace}`;
}

/** Whether Linux and Multus accept the name of an interface, and no other interface of the pod has it. */
function isInterfaceName(value: JsonValue): boolean {
  return (
    typeof value === 'string' && isDnsLabel(value) && value.length <= 15 && !TAKEN_INTERFACES.includes(value)
  );
}

function isText(value: JsonValue): boolean {
  return typeof value === 'string';
}

/** As Go reads it, in net.ParseMAC: 6, 8 or 20 bytes. */
function isHardwareAddress(value: JsonValue): boolean {
  return (
    typeof value === 'string' &&
    [/^([0-9a-f]{2}:)*[0-9a-f]{2}$/i, /^([0-9a-f]{2}-)*[0-9a-f]{2}$/i, /^([0-9a-f]{4}\.)*[0-9a-f]{4}$/i].some(
      (form) => form.test(value),
    ) &&
    [12, 16, 40].includes(value.replace(/[:.-]/g, '').length)
  );
}

function hasNumbers(value: JsonValue, keys: readonly string[]): boolean {
  return isObject(value) && keys.every((key) => Number.isSafeInteger(own(value, key) ?? 0));
}

function isUuid(value: JsonValue): boolean {
  return typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}

function isName(value: JsonValue): boolean {
  return typeof value === 'string' && isDnsLabel(value);
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

import ipaddr from 'ipaddr.js';
import { isDnsLabel } from '../../injection/podspec/names.ts';
import { quote } from '../../util/clip.ts';
import { isArray, type JsonObject, type JsonValue, own } from '../../util/json.ts';
import { suggest } from '../../util/suggest.ts';
import { Allocations } from '../addresses/allocations.ts';
import { poolsOf } from '../addresses/pool.ts';
import { GATEWAY_MAC, PORT_KEY, SECURITY_GROUPS_KEY } from '../api/names.ts';
import type { NetworkState } from '../controller/provider-registry.ts';
import type { NetworkAccess } from './network-access.ts';
import {
  ipsOf,
  keyOfSelected,
  MAX_ADDRESS,
  MAX_ADDRESSES,
  type Overlong,
  type Problem,
  parseSelection,
  type Selected,
  type Selection,
} from './selection.ts';

export interface AttachOptions {
  readonly access: NetworkAccess;
  /** The current state of the Network with this key, `namespace/name`. */
  readonly stateOf: (key: string) => NetworkState;
}

/** Interfaces that each pod has. */
const TAKEN_INTERFACES: readonly JsonValue[] = ['lo', 'eth0'];
/** Linux gives an interface no multicast address, and not zero. */
const MAC = /^(?!00(:00){5})[0-9a-f][02468ace](:[0-9a-f]{2}){5}$/i;
/** GATEWAY_MAC in the forms that Go reads as hardware addresses. */
const GATEWAY_MACS = /"(02[:-]6e[:-]77|026e\.77)/i;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** The most security groups of a pod on one Network. */
const MAX_GROUPS = 16;

const ADDRESSES = `a list of at most ${MAX_ADDRESSES} addresses with their prefix length, such as ["192.168.7.7/16"]`;

/** Rules for the options of the operator's annotation, and their text in messages. Multus checks the others. */
const RULES: Readonly<Record<string, readonly [is: (value: JsonValue) => boolean, must: string]>> = {
  namespace: [(value) => value === '' || isName(value), 'the name of a namespace'],
  interface: [
    (value) => isName(value) && String(value).length <= 15 && !TAKEN_INTERFACES.includes(value),
    'a name for an interface, such as net1',
  ],
  mac: [matches(MAC), 'a MAC address of one interface, such as 02:00:00:00:00:07'],
  ips: [areAddresses, ADDRESSES],
  [PORT_KEY]: [matches(UUID), 'the ID of a port in Neutron'],
  [SECURITY_GROUPS_KEY]: [
    (value) => isArray(value) && value.length <= MAX_GROUPS && value.every(matches(UUID)),
    `a list of at most ${MAX_GROUPS} IDs of security groups in Neutron`,
  ],
};

/** The keys of Multus (network-attachment-definition-client, NetworkSelectionElement), and those of the operator. */
const KEYS: readonly string[] = [
  ...['name', ...Object.keys(RULES)],
  ...['interfaceRequest', 'portMappings', 'bandwidth', 'cni-args', 'default-route', 'infiniband-guid'],
];
/** Multus is in Go, whose JSON folds the case of keys, so that also the long s is an s. */
const folded = (key: string) => key.toLowerCase().toUpperCase();
const BY_FOLDED_KEY: ReadonlyMap<string, string> = new Map(KEYS.map((key) => [folded(key), key]));

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
  for (const { element, ...selected } of selection.networks) {
    const key = keyOfSelected({ element, ...selected });
    const problem =
      elementProblem(element) ??
      (seen.has(key) ? `names Network ${key} twice: write it once` : undefined) ??
      (access.allows(podNamespace, key)
        ? undefined
        : `names a Network of namespace ${selected.namespace}, which pods of namespace ${podNamespace} may not use: write a Network of ${podNamespace}`);
    if (problem !== undefined) return { problem };
    seen.add(key);
  }
  return selection;
}

/** What is wrong with a network of the operator's annotation, whatever Networks there are. */
function elementProblem(element: JsonObject): string | undefined {
  const name = own(element, 'name') ?? null;
  if (!isName(name)) {
    return `has ${quote(name)}, which is not a valid name of a Network: write at most 63 of a-z, 0-9 and "-"`;
  }
  for (const [key, [is, must]] of Object.entries(RULES)) {
    const value = own(element, key);
    if (value !== undefined && !is(value)) return `has ${quote(value)} as ${key}: write ${must}`;
  }
  return undefined;
}

/**
 * Why a pod may not have what it asks for in Multus' annotation, whatever other pods have: as the end of a sentence that
 * begins with the annotation.
 */
export function optionProblem(
  text: string,
  namespace: string,
  { access, stateOf }: AttachOptions,
): string | undefined {
  const selection = parseSelection(text, namespace);
  if ('problem' in selection) return selection.problem;
  for (const selected of selection.networks) {
    const key = keyOfSelected(selected);
    const state = access.allows(namespace, key) ? stateOf(key) : undefined;
    const ips = own(selected.element, 'ips') ?? [];
    const problem =
      misreadKey(selected.element) ??
      // More than the operator reads would be nobody's.
      (areAddresses(ips) ? undefined : `has ${quote(ips)} as ips: write ${ADDRESSES}`) ??
      gatewayProblem(selected) ??
      (state?.kind === 'ready' ? stateProblem(selected, state) : undefined);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** A key that Multus takes for another one, so that the pod would get something else than the operator sees. */
function misreadKey(element: JsonObject): string | undefined {
  for (const key of Object.keys(element)) {
    const known = BY_FOLDED_KEY.get(folded(key));
    if (known !== undefined && known !== key)
      return `has the key ${quote(key)}, which Multus reads as ${known}: write ${known}`;
  }
  return undefined;
}

function gatewayProblem(selected: Selected): string | undefined {
  const asked = [own(selected.element, 'mac'), own(selected.element, 'cni-args')];
  if (!asked.some((value) => value !== undefined && GATEWAY_MACS.test(JSON.stringify(value))))
    return undefined;
  return `asks for the mac of a gateway on Network ${keyOfSelected(selected)}, but ${GATEWAY_MAC}… is for gateways: write another mac, or none`;
}

function stateProblem(
  selected: Selected,
  { subnet, hasPorts }: NetworkState & { readonly kind: 'ready' },
): string | undefined {
  const { element } = selected;
  const key = keyOfSelected(selected);
  if (!subnet) return undefined;
  const ofPorts = [PORT_KEY, SECURITY_GROUPS_KEY].find((each) => own(element, each) !== undefined);
  if (ofPorts !== undefined && !hasPorts) {
    return `asks for ${ofPorts} on Network ${key}, which has no ports in Neutron: remove it, or name a Network of provider neutron`;
  }
  const allocations = new Allocations(poolsOf(subnet));
  for (const ip of ipsOf(element)) {
    const problem = allocations.problemOf(ip);
    if (problem !== undefined)
      return `asks for ${ip} on Network ${key}, which ${problem}: write another address, or none`;
  }
  return undefined;
}

function isName(value: JsonValue): boolean {
  return typeof value === 'string' && isDnsLabel(value);
}

function matches(form: RegExp): (value: JsonValue) => boolean {
  return (value) => typeof value === 'string' && form.test(value);
}

function areAddresses(value: JsonValue): boolean {
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

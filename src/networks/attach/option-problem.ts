import ipaddr from 'ipaddr.js';
import { quote } from '../../util/clip.ts';
import { type JsonObject, type JsonValue, own, ownString, ownTexts } from '../../util/json.ts';
import { Allocations } from '../addresses/allocations.ts';
import { poolsOf } from '../addresses/pool.ts';
import { GATEWAY_MAC, PORT_KEY, SECURITY_GROUPS_KEY } from '../api/names.ts';
import type { NetworkState, ReadyNetwork } from '../controller/provider-registry.ts';
import type { NetworkAccess } from '../pods/network-access.ts';
import { ADDRESSES, areAddresses, KEYS, TAKEN_INTERFACES } from '../pods/request.ts';
import { ipsOf, keyOfSelected, parseSelection, type Selected } from '../pods/selection.ts';

export interface AttachOptions {
  readonly access: NetworkAccess;
  /** The current state of the Network with this key, `namespace/name`. */
  readonly stateOf: (key: string) => NetworkState;
}

/** What Linux refuses in the name of an interface. */
const NO_INTERFACE = /^\.{0,2}$|[\s/:%]|.{16}/;
/** GATEWAY_MAC in the forms that Go reads as hardware addresses. */
const GATEWAY_MACS = /"(02[:-]6e[:-]77|026e\.77)/i;
/** Multus is in Go, whose JSON folds the case of keys, so that also the long s is an s. */
const folded = (key: string) => key.toLowerCase().toUpperCase();
const BY_FOLDED_KEY: ReadonlyMap<string, string> = new Map(KEYS.map((key) => [folded(key), key]));

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
  const ours: Selected[] = [];
  for (const selected of selection.networks) {
    const key = keyOfSelected(selected);
    const state = access.allows(namespace, key) ? stateOf(key) : undefined;
    const ready = state && !('why' in state) ? state : undefined;
    const ips = own(selected.element, 'ips') ?? [];
    const problem =
      misreadKey(selected.element) ??
      // More than the operator reads would be nobody's.
      (areAddresses(ips) ? undefined : `sets ips to ${quote(ips)}: use ${ADDRESSES}`) ??
      gatewayProblem(selected) ??
      (ready && stateProblem(selected, ready));
    if (problem !== undefined) return problem;
    if (ready) ours.push(selected);
  }
  return interfaceProblem(selection.networks) ?? routeProblem(selection.networks) ?? repetitionProblem(ours);
}

/** Multus names an interface by the place of its network, if the annotation does not. */
function interfaceProblem(networks: readonly Selected[]): string | undefined {
  const owners = new Map<JsonValue, Selected>();
  for (const [index, selected] of networks.entries()) {
    const { interface: asked, interfaceRequest: former } = selected.element;
    const device = asked || former || `net${index + 1}`;
    if (typeof device !== 'string' || NO_INTERFACE.test(device) || TAKEN_INTERFACES.includes(device))
      return `sets interface to ${quote(device)}: use a name such as net1`;
    const other = owners.get(device);
    if (other) {
      const both = `${keyOfSelected(other)} and ${keyOfSelected(selected)}`;
      return `names interface ${device} for two networks, ${both}: use another interface for one of them`;
    }
    owners.set(device, selected);
  }
  return undefined;
}

/** Multus refuses more than one default route of a family. */
function routeProblem(networks: readonly Selected[]): string | undefined {
  const routes = networks.flatMap(({ element }) => ownTexts(element, 'default-route'));
  const six = routes.filter((address) => address.includes(':')).length;
  if (six < 2 && routes.length - six < 2) return undefined;
  return 'has several default-routes of one IP family: keep one';
}

/** Nothing can have an address, or a hardware address, twice on a network. */
function repetitionProblem(networks: readonly Selected[]): string | undefined {
  const seen = new Set<string>();
  for (const selected of networks) {
    const key = keyOfSelected(selected);
    const mac = ownString(selected.element, 'mac') || undefined;
    for (const value of [...ipsOf(selected.element), ...(mac === undefined ? [] : [mac])]) {
      const known = `${key} ${value === mac ? mac.replace(/[:.-]/g, '').toLowerCase() : plain(value)}`;
      if (seen.has(known)) return `asks for ${quote(value)} twice on Network ${key}: use it once`;
      seen.add(known);
    }
  }
  return undefined;
}

/** An address in canonical form, without its prefix length. */
function plain(text: string): string {
  const [address = ''] = text.split('/');
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : text;
}

/** A key that Multus takes for another one, so that the pod would get something else than the operator sees. */
function misreadKey(element: JsonObject): string | undefined {
  for (const key of Object.keys(element)) {
    const known = BY_FOLDED_KEY.get(folded(key));
    if (known !== undefined && known !== key)
      return `has the key ${quote(key)}, which Multus reads as ${known}: use ${known}`;
  }
  return undefined;
}

function gatewayProblem(selected: Selected): string | undefined {
  const asked = [own(selected.element, 'mac'), own(selected.element, 'cni-args')];
  if (!asked.some((value) => value !== undefined && GATEWAY_MACS.test(JSON.stringify(value))))
    return undefined;
  return `asks for a mac on Network ${keyOfSelected(selected)}, but ${GATEWAY_MAC}… is reserved for gateways: use another mac, or remove it`;
}

function stateProblem(selected: Selected, { subnet, hasPorts }: ReadyNetwork): string | undefined {
  const { element } = selected;
  const key = keyOfSelected(selected);
  if (!subnet) return undefined;
  const ofPorts = [PORT_KEY, SECURITY_GROUPS_KEY].find((each) => own(element, each) !== undefined);
  if (ofPorts !== undefined && !hasPorts) {
    return `sets "${ofPorts}" on Network ${key}, which has no Neutron ports: remove "${ofPorts}", or name a Network with provider neutron`;
  }
  const allocations = new Allocations(poolsOf(subnet));
  for (const ip of ipsOf(element)) {
    const problem = allocations.problemOf(ip);
    if (problem !== undefined)
      return `asks for ${ip}, which ${problem} Network ${key}: ${problem.startsWith('must') ? 'correct it, or use none' : 'use another address, or none'}`;
  }
  for (const route of ownTexts(element, 'default-route')) {
    // The gateway may be one, and also another pod.
    const problem = allocations.problemOf(route);
    if (problem !== undefined && /range|broadcast|end in/.test(problem))
      return `has default-route ${route}, which ${problem} Network ${key}: use the Network's gateway`;
  }
  return undefined;
}

import { CONFIG_MAPS, type ConfigMap } from '../../kube/api/core-resources.ts';
import { identityOf, type KubeObject } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import { isArray, isRecord, type JsonValue, own, tryJson } from '../../util/json.ts';
import { type Fitting, misfit } from '../../util/shape.ts';
import { parseRange, readRange } from '../ranges/cidr.ts';

/** What the agent of a node tells the operator about its node. */
const REPORT = {
  version: 'number',
  /** The addresses and routes of the node that are not of Networks, aggregated. */
  ranges: ['string'],
  /** How other nodes reach the node, by the device that carries its tunnels; absent if the agent finds no such device. */
  'underlay?': { address: 'string', mtu: 'number' },
  /** Why a Network does not work on the node, each in one sentence without a full stop. */
  problems: { '*': 'string' },
  /** By Network, the pods on the node that have lost their interface, with their UIDs; absent without any. */
  'lost?': { '*': { '*': 'string' } },
  /** Why pods start on the node without their Networks; absent if Multus attaches them, or that is not known. */
  'withoutMultus?': 'string',
  /** Where the agent runs, in the namespace of the report; absent outside of a pod. */
  'pod?': { name: 'string', uid: 'string' },
} as const;

export type NodeReport = Fitting<typeof REPORT>;
/** Its MTU is in bytes. */
export type Underlay = NonNullable<NodeReport['underlay']>;
export type AgentPod = NonNullable<NodeReport['pod']>;

/** The ConfigMap key of the report, which is JSON. */
export const REPORT_KEY = 'report';
/** The version of the reports that this release writes. */
export const REPORT_VERSION = 2;
/** The longest prefix of a default route: a VPN may write it as its two halves. Agents do not report it. */
export const LONGEST_DEFAULT = 1;
/** Kinds of addresses that no other node can have as that of one node. */
const UNREACHABLE: readonly string[] = ['unspecified', 'loopback', 'multicast', 'broadcast'];
/** The most ranges in a report. */
export const MAX_REPORTED_RANGES = 256;
/** The longest report that the operator reads, in characters. */
export const MAX_REPORT = 128 * 1024;

/** What IPv6 needs inside of a tunnel over IPv6, in bytes (RFC 8200 section 5). */
export const SMALLEST_MTU = 1350;
export const LARGEST_MTU = 65_535;
/** What VXLAN adds to a packet, in bytes (RFC 7348 section 5). */
const OVERHEAD = { ipv4: 50, ipv6: 70 };

/** The largest MTU of a Network whose packets fit into the underlay. */
export function largestMtu({ address, mtu }: Underlay): number {
  return mtu - (address.includes(':') ? OVERHEAD.ipv6 : OVERHEAD.ipv4);
}

/** A report of this or a later version, or why it is none, as a sentence without a full stop. */
export function readReport(text = ''): Pick<ReportObject, 'current' | 'problem'> {
  if (text.length > MAX_REPORT) {
    const problem = `its node agent's report has ${text.length} characters, more than the limit of ${MAX_REPORT}: see the agent's log`;
    return { current: undefined, problem };
  }
  const value: unknown = tryJson(text);
  const problem = problemOf(value);
  return { current: problem === undefined ? (value as NodeReport) : undefined, problem };
}

function problemOf(value: unknown): string | undefined {
  if (!isRecord(value)) return "its node agent's report is not a JSON object: restart the agent";
  const { version, ranges, underlay } = value;
  const problem = underlay === undefined ? undefined : underlayProblem(underlay);
  if (problem !== undefined) return problem;
  const [, misfitting] = /^\.(\w+)/.exec(misfit(value, REPORT, '') ?? '') ?? [];
  const isKnown = Number.isSafeInteger(version) && Number(version) >= REPORT_VERSION;
  const areRanges = isArray(ranges) && ranges.length <= MAX_REPORTED_RANGES && ranges.every(isRange);
  const invalid = misfitting ?? (isKnown ? (areRanges ? undefined : 'ranges') : 'version');
  return invalid && `its node agent's report has an invalid "${invalid}": restart the agent`;
}

function underlayProblem(underlay: unknown): string | undefined {
  const [address, mtu] = [own(underlay, 'address'), own(underlay, 'mtu')];
  // Other nodes send to the address, so its text must be nothing else, and not theirs or everyone's.
  const text = typeof address === 'string' ? address : '';
  const range = parseRange(`${text}/${text.includes(':') ? 128 : 32}`);
  if (!range || UNREACHABLE.includes(range.address.range())) {
    return `other nodes cannot reach its address ${JSON.stringify(address)}: set --node-address or --underlay-device on its node agent`;
  }
  if (!Number.isInteger(mtu) || Number(mtu) < SMALLEST_MTU || Number(mtu) > LARGEST_MTU) {
    return `its MTU ${JSON.stringify(mtu)} is not between ${SMALLEST_MTU} and ${LARGEST_MTU}: set --underlay-device on its node agent`;
  }
  return undefined;
}

function isRange(value: JsonValue): boolean {
  return typeof value === 'string' && readRange(value) !== undefined;
}

/** The ConfigMap of a report, decoded. */
export interface ReportObject extends KubeObject {
  readonly text: string | undefined;
  /** Undefined if the text is not a valid report of this release. */
  readonly current: NodeReport | undefined;
  /** Why there is no `current`. */
  readonly problem: string | undefined;
}

export const NODE_REPORTS: Resource<ReportObject> = {
  ...CONFIG_MAPS,
  decode(value) {
    const object: ConfigMap = CONFIG_MAPS.decode(value);
    const text = object.data?.[REPORT_KEY];
    return { metadata: identityOf(object), text, ...readReport(text) };
  },
};

import { CONFIG_MAPS, type ConfigMap } from '../../kube/api/core-resources.ts';
import { identityOf, type KubeObject, type ObjectKey } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import { isRecord, tryJson } from '../../util/json.ts';
import { parseRange, readRange } from '../ranges/cidr.ts';

/** What the agent of a node tells the operator about its node. */
export interface NodeReport {
  readonly version: number;
  /** The addresses and routes of the node that are not of Networks, aggregated. */
  readonly ranges: readonly string[];
  /** How other nodes reach the node; absent if the agent finds no such device. */
  readonly underlay?: Underlay;
  /** Why a Network does not work on the node, each in one sentence without a full stop. */
  readonly problems: Readonly<Record<ObjectKey, string>>;
  /** By Network, the pods on the node that have lost their interface, with their UIDs; absent without any. */
  readonly lost?: Readonly<Record<ObjectKey, Readonly<Record<ObjectKey, string>>>>;
  /** Why pods start on the node without their Networks; absent if Multus attaches them, or that is not known. */
  readonly withoutMultus?: string;
  /** Where the agent runs; absent outside of a pod. */
  readonly pod?: AgentPod;
}

/** The pod of an agent, in the namespace of the report. */
export interface AgentPod {
  readonly name: string;
  readonly uid: string;
}

/** The device that carries the tunnels of a node. */
export interface Underlay {
  readonly address: string;
  /** In bytes. */
  readonly mtu: number;
}

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
  const { version, ranges, underlay, problems, lost = {}, pod, withoutMultus } = value;
  const valid = {
    version: Number.isSafeInteger(version) && Number(version) >= REPORT_VERSION,
    ranges: Array.isArray(ranges) && ranges.length <= MAX_REPORTED_RANGES && ranges.every(isRange),
    problems: isRecord(problems) && Object.values(problems).every(isString),
    lost:
      isRecord(lost) &&
      Object.values(lost).every((pods) => isRecord(pods) && Object.values(pods).every(isString)),
    withoutMultus: withoutMultus === undefined || isString(withoutMultus),
    pod: pod === undefined || (isRecord(pod) && isString(pod.name) && isString(pod.uid)),
  };
  const invalid = Object.entries(valid).find(([, isValid]) => !isValid);
  if (invalid) return `its node agent's report has an invalid "${invalid[0]}": restart the agent`;
  return underlay === undefined ? undefined : underlayProblem(underlay);
}

function underlayProblem(value: unknown): string | undefined {
  const { address, mtu } = isRecord(value) ? value : {};
  // Other nodes send to the address, so its text must be nothing else, and not theirs or everyone's.
  const range = isString(address) ? parseRange(`${address}/${address.includes(':') ? 128 : 32}`) : undefined;
  if (!range || UNREACHABLE.includes(range.address.range())) {
    return `other nodes cannot reach its address ${JSON.stringify(address)}: set --node-address or --underlay-device on its node agent`;
  }
  if (!Number.isInteger(mtu) || Number(mtu) < SMALLEST_MTU || Number(mtu) > LARGEST_MTU) {
    return `its MTU ${JSON.stringify(mtu)} is not between ${SMALLEST_MTU} and ${LARGEST_MTU}: set --underlay-device on its node agent`;
  }
  return undefined;
}

function isRange(value: unknown): value is string {
  return isString(value) && readRange(value) !== undefined;
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
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

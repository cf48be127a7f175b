import type { Findings, Parsed } from '../../util/diagnostic.ts';
import { parseDuration } from '../../util/duration.ts';
import { type JsonValue, own, withoutNulls } from '../../util/json.ts';
import { checkYaml } from '../../util/yaml.ts';
import { checkObject, type ObjectSchema, type Schema } from '../podspec/schema/schema.ts';

/** A number of the pods of a workload; a percentage is rounded up, and is at least one pod. */
export type PodShare = { readonly count: number } | { readonly percent: number };

/** The pods that get a new template first: those of some namespaces, and those of a share of all workloads. */
export interface CanaryScope {
  /** Labels that the Namespace must have; undefined selects none. */
  readonly namespaces: Readonly<Record<string, string>> | undefined;
  /** From 0 to 100. */
  readonly percent: number;
}

/** How a new template reaches running pods, from the key `rollout` of the template's ConfigMap. */
export interface Strategy {
  /** `new-pods`: not at all. `in-place`: only where no application is restarted. */
  readonly mode: 'new-pods' | 'in-place' | 'in-place-or-replace';
  /** Pods of one workload that may be not Ready at the same time. */
  readonly maxUnavailable: PodShare;
  /** Pods that are changed in a minute, in all workloads together. */
  readonly perMinute: number;
  /** What to do with the only pod of a workload: a change is an outage of it. */
  readonly singleReplica: 'leave' | 'change';
  /** Undefined: the smallest share of workloads that proves the template. */
  readonly canary: (CanaryScope & { readonly holdMs: number }) | undefined;
  readonly breaker: {
    /** That many failed pods among the last `of` changed ones stop the rollout. */
    readonly failures: number;
    readonly of: number;
    /** A changed pod that is not Ready after this time has failed. */
    readonly withinMs: number;
    /** Whether changed pods get the last good template again. */
    readonly onHalt: 'back' | 'stop';
  };
  readonly paused: boolean;
}

/** The time that a pod has until it has failed: a kubelet needs some seconds to start a container. */
const LEAST_WITHIN_MS = 5_000;

/** The field `then` of the breaker, which no object of TypeScript should have: `await` would call it. */
const THEN = 'then';

const STRATEGY: ObjectSchema = {
  mode: { type: 'string', values: ['new-pods', 'in-place', 'in-place-or-replace'] },
  maxUnavailable: { type: 'int-or-string' },
  perMinute: { type: 'int32', range: [1, 100_000] },
  singleReplica: { type: 'string', values: ['leave', 'change'] },
  canary: { type: 'Canary' },
  breaker: { type: 'Breaker' },
  paused: { type: 'boolean' },
};
const TYPES: Schema = {
  Canary: {
    namespaces: { type: 'string', map: true },
    percent: { type: 'int32', range: [1, 100] },
    hold: { type: 'duration' },
  },
  Breaker: {
    failures: { type: 'int32', range: [1, 1_000] },
    of: { type: 'int32', range: [1, 1_000] },
    within: { type: 'duration' },
    [THEN]: { type: 'string', values: ['back', 'stop'] },
  },
};

/** Parses the key `rollout`. Missing fields have their defaults. Never throws: returns all faults at once. */
export function parseStrategy(source: string, text: string): Parsed<{ readonly strategy: Strategy }> {
  const parsed = checkYaml(source, text, (value) => checkObject(value, STRATEGY, TYPES, []), findings);
  return 'faults' in parsed ? parsed : { strategy: fromChecked(parsed.value) };
}

function* findings(value: JsonValue): Findings {
  const share = own(value, 'maxUnavailable');
  if (share != null && parseShare(share) === undefined) {
    const message = `must be at least 1 pod, or a percentage from "1%" to "100%", not ${JSON.stringify(share)}`;
    yield { path: ['maxUnavailable'], message };
  }
  const within = own(own(value, 'breaker'), 'within');
  const withinMs = typeof within === 'string' ? parseDuration(within) : undefined;
  if (withinMs !== undefined && withinMs < LEAST_WITHIN_MS) {
    const message = `must be at least ${LEAST_WITHIN_MS / 1000}s: no sidecar becomes Ready sooner`;
    yield { path: ['breaker', 'within'], message };
  }
  const canary = own(value, 'canary');
  if (canary != null && own(canary, 'namespaces') == null && own(canary, 'percent') == null) {
    const message = 'selects no pods: add namespaces (labels), percent (of the workloads), or both';
    yield { path: ['canary'], message };
  }
  const namespaces = own(canary, 'namespaces');
  if (namespaces != null && Object.keys(namespaces).length === 0) {
    yield {
      path: ['canary', 'namespaces'],
      message: 'selects all namespaces: add a label such as env: staging',
    };
  }
  const { failures, of } = fromChecked(value).breaker;
  if (failures > of) {
    const message = `must be at most breaker.of, which is ${of}: the breaker counts only that many pods`;
    yield { path: ['breaker', 'failures'], message };
  }
}

function parseShare(value: JsonValue): PodShare | undefined {
  if (typeof value === 'number') return value >= 1 ? { count: value } : undefined;
  const [, digits] = /^(\d{1,3})%$/.exec(String(value)) ?? [];
  const percent = Number(digits);
  return percent >= 1 && percent <= 100 ? { percent } : undefined;
}

/** What the schema check lets pass. */
interface Given extends Partial<Pick<Strategy, 'mode' | 'perMinute' | 'singleReplica' | 'paused'>> {
  readonly maxUnavailable?: number | string;
  readonly canary?: Partial<CanaryScope> & { readonly hold?: string };
  readonly breaker?: Partial<Pick<Strategy['breaker'], 'failures' | 'of'>> & {
    readonly within?: string;
    readonly [THEN]?: Strategy['breaker']['onHalt'];
  };
}

/** Fills in the defaults, which are those of docs/rollout.md. */
function fromChecked(value: JsonValue): Strategy {
  const given = withoutNulls(value) as Given;
  const { mode = 'new-pods', maxUnavailable = 1, perMinute = 60, singleReplica = 'leave', canary } = given;
  const {
    of = 10,
    failures = Math.min(2, of),
    within = '60s',
    [THEN]: onHalt = 'stop',
  } = given.breaker ?? {};
  return {
    ...{ mode, perMinute, singleReplica, paused: given.paused ?? false },
    maxUnavailable: parseShare(maxUnavailable) ?? { count: 1 },
    canary: canary && {
      namespaces: canary.namespaces,
      percent: canary.percent ?? 0,
      holdMs: parseDuration(canary.hold ?? '0s') ?? 0,
    },
    breaker: { failures, of, withinMs: parseDuration(within) ?? 0, onHalt },
  };
}

/** A bound that is greater than every UID. */
const ALL = 'g';

/**
 * The bound of a share of all workloads: those whose UID sorts before it. UIDs are random (version 4), so that their
 * first digits spread them evenly. Comparing text, it means the same in TypeScript and in CEL.
 */
export function uidBound(percent: number): string {
  if (percent >= 100) return ALL;
  if (percent <= 0) return '';
  return Math.ceil((percent / 100) * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
}

/** The smallest whole percentage whose bound is above this UID. */
export function percentFor(uid: string): number {
  const part = Number.parseInt(uid.slice(0, 8), 16);
  if (Number.isNaN(part)) return 100;
  const percent = Math.min(100, Math.floor((part / 2 ** 32) * 100) + 1);
  return uid < uidBound(percent) ? percent : Math.min(100, percent + 1);
}

/** Whether a pod belongs to the canary, by the labels of its namespace and the UID of its controller. */
export function isCanary(
  { namespaces, percent }: CanaryScope,
  namespaceLabels: Readonly<Record<string, string>>,
  controllerUid: string | undefined,
): boolean {
  if (controllerUid !== undefined && controllerUid < uidBound(percent)) return true;
  return (
    namespaces !== undefined &&
    Object.entries(namespaces).every(
      ([key, value]) => Object.hasOwn(namespaceLabels, key) && namespaceLabels[key] === value,
    )
  );
}

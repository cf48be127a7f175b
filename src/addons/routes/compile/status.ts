import { clip } from '../../../util/clip.ts';
import { formatDiagnostic } from '../../../util/diagnostic.ts';
import { type JsonValue, sameJson } from '../../../util/json.ts';
import type { Attachment } from './attach.ts';
import type { CompiledRoute } from './compile.ts';
import { FAULT_REASONS, type RouteFault } from './findings.ts';
import type { ParentReference, RouteCondition, RouteParentStatus } from './route.ts';

/** The name under which the operator writes into the status of routes. */
export const CONTROLLER_NAME = 'initializer.kubernetes.io/envoy-routes';
/** The condition that says how many sidecars have the routes. */
export const PROGRAMMED = 'initializer.kubernetes.io/Programmed';

/** The longest message, in UTF-16 units, and of all parents: each may say the same. The CRD allows 32,768. */
const MAX_MESSAGE = 2000;
const MAX_MESSAGES = 8000;

/** The CRD allows no more entries. Those of others come first. */
const MAX_PARENTS = 32;

/** A condition without the time of its last change. */
type Condition = Omit<RouteCondition, 'lastTransitionTime'>;
type ParentStatus = Omit<RouteParentStatus, 'conditions'> & { readonly conditions: readonly Condition[] };

/** How many sidecars have taken the routes, of those that should. */
export interface Programmed {
  readonly sidecars: number;
  readonly of: number;
  /** Why the others cannot get it, if that is known. */
  readonly obstacle?: Obstacle;
}

/** What keeps the routes of a namespace from its sidecars: the reason of a condition and an Event. */
export interface Obstacle {
  readonly reason: 'RoutesTooLarge' | 'RoutesNotOurs' | 'RequestRefused';
  readonly message: string;
}

/** The status of a route: one entry for each parent that is a Service. `programmed` is left out where it is unknown. */
export function parentsOf(route: CompiledRoute, programmed?: Programmed): readonly ParentStatus[] {
  return route.attachments.map((attachment) => ({
    parentRef: attachment.reference,
    controllerName: CONTROLLER_NAME,
    conditions: conditionsOf(route, attachment, programmed),
  }));
}

function conditionsOf(
  { object, attachments, faults, refused, unserved }: CompiledRoute,
  attachment: Attachment,
  programmed: Programmed | undefined,
): readonly Condition[] {
  const { generation } = object.metadata;
  const condition = (type: string, isTrue: boolean, reason: string, message: string): Condition => ({
    type,
    status: isTrue ? 'True' : 'False',
    reason,
    message: clip(message, Math.min(MAX_MESSAGE, Math.ceil(MAX_MESSAGES / attachments.length))),
    ...(generation !== undefined && { observedGeneration: generation }),
  });
  const isAbout = (type: string) => (fault: RouteFault) => FAULT_REASONS[fault.reason] === type;
  const [refusals, references] = [faults.filter(isAbout('Accepted')), faults.filter(isAbout('ResolvedRefs'))];
  const rules = object.spec.rules?.length ?? 1;
  const ignored = faults.filter(isAbout('none')).map(formatDiagnostic);
  const isRefused = refusals.length > 0 && refused.length === rules;
  const accepted =
    'missing' in attachment
      ? condition('Accepted', false, attachment.reason ?? 'NoMatchingParent', attachment.missing)
      : isRefused
        ? condition('Accepted', false, refusals[0]?.reason ?? '', `All rules return 500: ${listed(refusals)}`)
        : condition(
            'Accepted',
            true,
            'Accepted',
            [portsOf(attachment.ports), ...unserved.map(unservedText), ...ignored].join('; '),
          );
  const [first] = references;
  return [
    accepted,
    ...(refusals.length > 0 && !isRefused
      ? [condition('PartiallyInvalid', true, 'UnsupportedValue', `Dropped Rule: 500 for ${listed(refusals)}`)]
      : []),
    first
      ? condition('ResolvedRefs', false, first.reason, listed(references))
      : condition('ResolvedRefs', true, 'ResolvedRefs', 'All Services exist'),
    ...(programmed && !('missing' in attachment) ? [programmedBy(programmed, condition)] : []),
  ];
}

function programmedBy(
  { sidecars, of, obstacle }: Programmed,
  condition: (type: string, isTrue: boolean, reason: string, message: string) => Condition,
): Condition {
  const count = `${sidecars} of ${of} sidecars`;
  if (sidecars >= of && !obstacle) return condition(PROGRAMMED, true, 'Programmed', count);
  const why = obstacle ? `${count}: ${obstacle.message}` : count;
  return condition(PROGRAMMED, false, obstacle?.reason ?? 'Pending', why);
}

function listed(faults: readonly RouteFault[]): string {
  return faults.map(formatDiagnostic).join('; ');
}

/** Of a rule that is valid and yet answers 500. */
export function unservedText(rule: number): string {
  return `rules[${rule}]: no backend has a weight above 0, so requests get 500`;
}

function portsOf(ports: readonly { readonly service: string; readonly port: number }[]): string {
  const [first] = ports;
  return `Applies to Service ${first?.service} ${ports.length > 1 ? 'ports' : 'port'} ${ports.map(({ port }) => port).join(', ')}`;
}

/**
 * The next `status.parents` of a route; undefined if it is right already. Entries of other controllers stay. `now` is
 * RFC 3339.
 */
export function nextParents(
  current: readonly RouteParentStatus[] | undefined,
  wanted: readonly ParentStatus[],
  now: string,
): readonly RouteParentStatus[] | undefined {
  const before = current ?? [];
  const isOurs = ({ controllerName }: RouteParentStatus) => controllerName === CONTROLLER_NAME;
  const written = new Map(before.filter(isOurs).map((each) => [referenceText(each.parentRef), each]));
  const ours = wanted.map((parent) => {
    const known = written.get(referenceText(parent.parentRef));
    return { ...parent, conditions: parent.conditions.map((each) => dated(each, known, now)) };
  });
  const next = [...before.filter((each) => !isOurs(each)), ...ours].slice(0, MAX_PARENTS);
  return sameJson(asJson(before), asJson(next)) ? undefined : next;
}

function referenceText({ group, kind, namespace, name, sectionName, port }: ParentReference): string {
  return JSON.stringify([group, kind, namespace, name, sectionName, port]);
}

function asJson(value: unknown): JsonValue {
  const text: JsonValue = JSON.parse(JSON.stringify(value));
  return text;
}

/** A condition keeps its time until its status changes. */
function dated(condition: Condition, known: RouteParentStatus | undefined, now: string): RouteCondition {
  const before = known?.conditions.find(({ type }) => type === condition.type);
  const isSame = before?.status === condition.status;
  return { ...condition, lastTransitionTime: isSame ? before.lastTransitionTime : now };
}

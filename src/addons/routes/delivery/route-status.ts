import { isConflict, isNotFound } from '../../../kube/api/api-error.ts';
import { type ObjectKey, refOf } from '../../../kube/api/object.ts';
import { regardingOf } from '../../../kube/api/resource.ts';
import type { Lister } from '../../../kube/cache/store.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Reconcile } from '../../../kube/controller/controller.ts';
import type { EventDetails, EventRecorder } from '../../../kube/events/events.ts';
import type { Compilation } from '../compile/compile.ts';
import { NO_SIDECAR } from '../compile/explain.ts';
import type { Route, RouteCondition, RouteParentStatus } from '../compile/route.ts';
import { CONTROLLER_NAME, nextParents, PROGRAMMED, type Programmed, parentsOf } from '../compile/status.ts';
import { resourceOf } from './resources.ts';

export interface RouteStatusOptions {
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly routes: Pick<Lister<Route>, 'get'>;
  compilation(): Compilation | Promise<Compilation>;
  programmed(route: ObjectKey, compilation: Compilation): Programmed;
  /** Whether all sidecars were asked in this term, so that the numbers are right. */
  isSurveyed(): boolean;
  readonly events: EventRecorder;
  /** A monotonic time in milliseconds. */
  now(): number;
  wallClock(): Date;
}

/** How often the number of sidecars is written at most: while some are behind, and when none is. */
const NUMBERS_MS = 10_000;
const SETTLED_NUMBERS_MS = 300_000;
/** How often a new leader looks whether all sidecars were asked. */
const LOOK_MS = 1000;
/** Not none. */
const UNKNOWN: Programmed = { sidecars: 0, of: 1 };

/** Returns the reconcile that writes the status of a route, and Events about what is wrong. The key is that of a route. */
export function routeStatusReconcile(options: RouteStatusOptions): Reconcile {
  const { client, routes, events, wallClock, now } = options;
  const written = new Map<ObjectKey, number>();

  return async (key, signal) => {
    const compilation = await options.compilation();
    const [object, route] = [routes.get(key), compilation.routes.get(key)];
    if (!object || !route || object.metadata.deletionTimestamp !== undefined) {
      written.delete(key);
      return {};
    }
    // A newer generation is compiled soon, and comes here then.
    if (route.object.metadata.generation !== object.metadata.generation) return {};
    // A new leader writes no numbers before it has asked all sidecars: they would be too low.
    const isSurveyed = options.isSurveyed();
    const programmed = options.programmed(key, compilation);
    const [before, date] = [object.status?.parents ?? [], wallClock().toISOString().replace(/\.\d+/, '')];
    const after = nextParents(before, parentsOf(route, isSurveyed ? programmed : undefined), date);
    const since = now() - (written.get(key) ?? Number.NEGATIVE_INFINITY);
    // What changes the numbers queues all routes.
    const again = isSurveyed ? {} : { requeueAfterMs: LOOK_MS };
    if (after === undefined || (!isSurveyed && differOnlyIn(PROGRAMMED, before, after))) return again;
    if (differOnlyIn('numbers', before, after)) {
      const leftMs = (programmed.sidecars < programmed.of ? NUMBERS_MS : SETTLED_NUMBERS_MS) - since;
      if (leftMs > 0 && !hasNobody(before)) return { requeueAfterMs: leftMs };
    }
    if (isSurveyed) written.set(key, now());
    else written.delete(key);
    const { resourceVersion } = object.metadata;
    const [patch, how] = [
      { metadata: { resourceVersion }, status: { parents: after } },
      { subresource: 'status', signal },
    ];
    try {
      await client.mergePatch(resourceOf(object), refOf(object), patch, how);
    } catch (err) {
      // Another client was faster: the watch delivers the new state.
      if (!isConflict(err) && !isNotFound(err)) throw err;
      return again;
    }
    const regarding = regardingOf(resourceOf(object), object);
    for (const details of eventsOf(before, after, isSurveyed ? programmed : UNKNOWN))
      events.event(regarding, details);
    return again;
  };
}

/** Whether the status says that there are no sidecars. */
function hasNobody(parents: readonly RouteParentStatus[]): boolean {
  return parents.some(({ conditions }) =>
    conditions.some(({ type, message }) => type === PROGRAMMED && message.startsWith('0 of 0 ')),
  );
}

/** Whether statuses differ in nothing but the condition Programmed, or the numbers in its message. */
function differOnlyIn(
  what: typeof PROGRAMMED | 'numbers',
  ...statuses: readonly (readonly RouteParentStatus[])[]
): boolean {
  const [before, after] = statuses.map((parents) =>
    JSON.stringify(parents, (key, value: unknown) =>
      key !== 'conditions' || !Array.isArray(value)
        ? value
        : value.flatMap((each: RouteCondition) => {
            if (each.type !== PROGRAMMED) return each;
            return what === PROGRAMMED ? [] : { ...each, message: '' };
          }),
    ),
  );
  return before === after;
}

/** One for each condition that has changed. */
export function eventsOf(
  before: readonly RouteParentStatus[],
  after: readonly RouteParentStatus[],
  { of }: Programmed,
): readonly EventDetails[] {
  const was = new Set(conditionsOf(before));
  const events = new Map<string, EventDetails>();
  const accepted = (text: string) => text.startsWith('Accepted True ');
  for (const text of conditionsOf(after)) {
    if (was.has(text)) continue;
    const [type, status, reason = '', ...words] = text.split(' ');
    const isBad = type === 'PartiallyInvalid' ? status === 'True' : status === 'False';
    const isNewlyAccepted = accepted(text) && ![...was].some(accepted);
    if (!isBad && !isNewlyAccepted) continue;
    const note = words.join(' ');
    events.set(text, { type: isBad ? 'Warning' : 'Normal', reason, action: 'Route', note });
    if (isNewlyAccepted && of === 0) {
      const { reason, message } = NO_SIDECAR;
      events.set(PROGRAMMED, { type: 'Warning', reason, action: 'Route', note: message });
    }
  }
  return [...events.values()];
}

function conditionsOf(parents: readonly RouteParentStatus[]): readonly string[] {
  return parents
    .filter(({ controllerName }) => controllerName === CONTROLLER_NAME)
    .flatMap(({ conditions }) => conditions)
    .filter(({ type }) => type !== PROGRAMMED)
    .map(({ type, status, reason, message }) => `${type} ${status} ${reason} ${message}`);
}

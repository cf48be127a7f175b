import { ifReadable } from '../kube/api/api-error.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { EVENTS } from '../kube/events/events.ts';
import { PROGRAM } from '../util/identity.ts';
import { isObject, type JsonObject, own, ownString } from '../util/json.ts';
import { CALLED_AS } from './io/terminal.ts';

/**
 * The latest Event that a field selector chooses, such as `regarding.name=web`; undefined without one, or without the right
 * to list them.
 */
export async function lastEvent(
  client: KubeClient,
  namespace: string | undefined,
  fieldSelector: string,
  isWanted: (event: JsonObject) => boolean = () => true,
): Promise<{ readonly reason: string; readonly note: string } | undefined> {
  const items = ((await ifReadable(client.list(EVENTS, { namespace, fieldSelector })))?.items ?? []).filter(
    isObject,
  );
  const at = (event: JsonObject) =>
    ownString(own(event, 'series'), 'lastObservedTime') ?? ownString(event, 'eventTime') ?? '';
  const [last] = items.filter(isWanted).toSorted((a, b) => (at(a) < at(b) ? 1 : -1));
  return last && { reason: ownString(last, 'reason') ?? '', note: ownString(last, 'note') ?? '' };
}

/** What the operator's latest Event of an object says, such as `Pod/web`; otherwise where to look, because there is none, or the user may not read it. */
export async function lastWords(
  client: KubeClient,
  namespace: string | undefined,
  object: string,
  uid?: string,
): Promise<string> {
  const [kind, name] = object.split('/');
  // An earlier object had the same name.
  const which = uid === undefined ? '' : `,regarding.uid=${uid}`;
  const of = `reportingController=${PROGRAM},regarding.kind=${kind},regarding.name=${name}${which}`;
  const last = await lastEvent(client, namespace, of);
  return last
    ? `${last.reason}: ${last.note}`
    : `no Event that you can read says why: see ${CALLED_AS} status`;
}

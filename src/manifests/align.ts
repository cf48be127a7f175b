import { isObject, type JsonArray, type JsonValue, own, ownString, sameJson } from '../inject/json.ts';

/** For each item of the new list, the index of the old one that it was made of; in the order of both. */
export function align(before: JsonArray, after: JsonArray): readonly (number | undefined)[] {
  let next = 0;
  return after.map((value) => {
    const match = findSame(before, value, next);
    if (match === -1) return undefined;
    next = match + 1;
    return match;
  });
}

/** The item that a value was made of: itself, an equal one, the one of its name or, without names, the next. */
function findSame(before: JsonArray, value: JsonValue, from: number): number {
  const same = before.indexOf(value, from);
  if (same !== -1) return same;
  const name = nameOf(value);
  return before.findIndex((item, index) => {
    if (index < from) return false;
    if (sameJson(item, value)) return true;
    return (
      isObject(item) && isObject(value) && nameOf(item) === name && (name !== undefined || index === from)
    );
  });
}

/** What Kubernetes tells the items of its lists apart by; of the items of a List, kind and name. */
function nameOf(item: JsonValue): string | undefined {
  const name = ownString(item, 'name') ?? ownString(item, 'ip') ?? ownString(item, 'mountPath');
  if (name !== undefined) return name;
  const metadata = own(item, 'metadata');
  if (metadata === undefined) return undefined;
  return JSON.stringify(
    [own(item, 'kind'), own(metadata, 'namespace'), own(metadata, 'name')].map((part) => part ?? null),
  );
}

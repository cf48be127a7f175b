import { isArray, isObject, type JsonValue, own, ownObjects, ownString } from '../../util/json.ts';

/**
 * Whether a LabelSelector (meta/v1) selects these labels, as the API server evaluates it. An empty one selects all. An
 * unknown operator selects nothing.
 */
export function selects(selector: JsonValue | undefined, labels: Readonly<Record<string, string>>): boolean {
  const labelOf = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  const matchLabels = own(selector, 'matchLabels');
  const equal = Object.entries(isObject(matchLabels) ? matchLabels : {}).every(
    ([key, value]) => labelOf(key) === value,
  );
  return (
    equal &&
    ownObjects(selector, 'matchExpressions').every((expression) => {
      const value = labelOf(ownString(expression, 'key') ?? '');
      const values = own(expression, 'values');
      const listed = value !== undefined && isArray(values) && values.includes(value);
      switch (ownString(expression, 'operator')) {
        case 'In':
          return listed;
        case 'NotIn':
          return !listed;
        case 'Exists':
          return value !== undefined;
        case 'DoesNotExist':
          return value === undefined;
        default:
          return false;
      }
    })
  );
}

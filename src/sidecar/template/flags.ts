import { isArray, type JsonObject, type JsonValue, own } from '../../json/json.ts';

/**
 * A container with a command-line flag set to a value: changed where its command or arguments have it
 * already, in whichever form (`--flag value` in one string or in two, or `--flag=value`), else added to the
 * arguments. Undefined when it has neither: the image's own arguments, which new ones would displace, are
 * not known.
 */
export function withFlag(
  container: JsonObject,
  names: readonly string[],
  value: string,
): JsonObject | undefined {
  for (const field of ['args', 'command']) {
    const changed = replaceFlag(own(container, field), names, value);
    if (changed) return { ...container, [field]: changed };
  }
  const args = own(container, 'args');
  if (!isArray(args) && !isArray(own(container, 'command'))) return undefined;
  const [name = ''] = names;
  return { ...container, args: [...(isArray(args) ? args : []), name, value] };
}

function replaceFlag(
  list: JsonValue | undefined,
  names: readonly string[],
  value: string,
): readonly JsonValue[] | undefined {
  if (!isArray(list)) return undefined;
  for (const [index, item] of list.entries()) {
    for (const name of names) {
      if (item === name) return [...list.slice(0, index + 1), value, ...list.slice(index + 2)];
      const separator = String(item).charAt(name.length);
      if (String(item).startsWith(name) && (separator === ' ' || separator === '=')) {
        return list.with(index, `${name}${separator}${value}`);
      }
    }
  }
  return undefined;
}

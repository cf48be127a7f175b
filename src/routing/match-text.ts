import type { Match, PathMatch, ValueMatch } from './model.ts';
import { shown } from './parse-match.ts';

/** Such as `below "/a"`. */
export function pathText({ type, value }: PathMatch): string {
  if (type === 'Exact') return shown(value);
  return type === 'PathPrefix' ? `below ${shown(value)}` : `a match of ${shown(value)}`;
}

/** Such as `path below "/a", method GET`. */
export function matchText({ path, method, headers, queryParams: params }: Match): string {
  const value = (kind: string) => (each: ValueMatch) =>
    `${kind} ${each.name}${each.isRegex ? '~' : '='}${shown(each.value)}`;
  return [
    `path ${pathText(path)}`,
    ...(method === undefined ? [] : [`method ${method}`]),
    ...headers.map(value('header')),
    ...params.map(value('query parameter')),
  ].join(', ');
}

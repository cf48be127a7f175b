import { type LimitRange, limitRangeViolations } from '../../injection/podspec/rules/limit-ranges.ts';
import type { Template } from '../../injection/template/template.ts';
import { ownString } from '../../util/json.ts';
import { UnsupportedInCel } from './literal.ts';

/** More names make a policy too large. */
const MOST = 1_000;

/**
 * The namespaces whose LimitRanges may refuse a pod with this template, in their order. What they say about containers does
 * not depend on the rest of the pod; what they say about pods does.
 * @throws UnsupportedInCel
 */
export function limitedNamespaces(
  { containers, initContainers }: Template,
  ranges: ReadonlyMap<string, readonly LimitRange[]> = new Map(),
): readonly string[] {
  const spec = { containers, initContainers };
  const isLimited = (those: readonly LimitRange[]) =>
    those.some(({ limits }) => limits.some((item) => ownString(item, 'type') === 'Pod')) ||
    limitRangeViolations({ spec }, those).length > 0;
  const found = [...ranges].flatMap(([namespace, those]) => (isLimited(those) ? [namespace] : []));
  if (found.length > MOST)
    throw new UnsupportedInCel(`more than ${MOST} namespaces have LimitRanges that may refuse its pods`);
  return found.sort();
}

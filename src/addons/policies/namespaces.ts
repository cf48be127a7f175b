import { inject } from '../../injection/inject.ts';
import { keysFor } from '../../injection/keys.ts';
import { podCreation } from '../../injection/podspec/admission-target.ts';
import {
  ENFORCE_LABEL,
  ENFORCE_VERSION_LABEL,
  STANDARD_CHANGES,
} from '../../injection/podspec/pod-security.ts';
import { type LimitRange, limitRangeViolations } from '../../injection/podspec/rules/limit-ranges.ts';
import type { Template } from '../../injection/template/template.ts';
import type { TemplateSet } from '../../injection/template/template-set.ts';
import { ownString } from '../../util/json.ts';
import { UnsupportedInCel } from './literal.ts';

const LEVELS = ['baseline', 'restricted'] as const;

/** The namespaces that only the webhook injects, because pods may break what they enforce by a template. */
export interface BrokenNamespaces {
  /** Levels of pod security, in the version of the API server. */
  readonly levels: readonly string[];
  /** Older minor versions in which the template breaks one of the other levels. */
  readonly versions: readonly number[];
  /** The names of those whose LimitRanges may refuse a pod. */
  readonly namespaces: readonly string[];
}

/**
 * The standards of pod security that a pod may break by this template, and the namespaces with such LimitRanges. The
 * template's settings for the whole pod do not count, because a pod may override them. A sidecar that meets a level without
 * them meets it in every pod.
 * @throws UnsupportedInCel
 */
export function brokenNamespaces(
  template: Template,
  set: TemplateSet,
  serverMinor: number | undefined,
  limitRanges: ReadonlyMap<string, readonly LimitRange[]> | undefined,
): BrokenNamespaces {
  // A misfit is no matter of levels: it has a condition of its own.
  const whole = { ...template, incompatibleShapes: [] };
  const alone = { ...whole, securityContext: {} };
  const isBroken = (labels: Readonly<Record<string, string>>) =>
    [whole, alone].some((each) => breaks(each, set, labels, serverMinor));
  const levels = LEVELS.filter((level) => isBroken({ [ENFORCE_LABEL]: level }));
  const others = LEVELS.filter((level) => !levels.includes(level));
  const versions = STANDARD_CHANGES.flatMap((minor, i) => {
    const next = STANDARD_CHANGES[i + 1];
    // The last ones are the standards of the API server itself.
    if (next === undefined || next > (serverMinor ?? Number.POSITIVE_INFINITY)) return [];
    const labels = { [ENFORCE_VERSION_LABEL]: `v1.${minor}` };
    if (!others.some((level) => isBroken({ ...labels, [ENFORCE_LABEL]: level }))) return [];
    return Array.from({ length: next - minor }, (_, n) => minor + n);
  });
  return { levels, versions, namespaces: limitedNamespaces(template, limitRanges) };
}

function breaks(
  template: Template,
  set: TemplateSet,
  namespaceLabels: Readonly<Record<string, string>>,
  serverMinor: number | undefined,
): boolean {
  const keys = keysFor();
  return ['Always', 'Never'].some((restartPolicy) => {
    const injection = inject({
      request: podCreation('default'),
      pod: { metadata: {}, spec: { restartPolicy, containers: [{ name: 'envoy-initializer-policy' }] } },
      namespaceLabels,
      serverMinor,
      options: { keys, requireAnnotation: false, operatorNamespace: '' },
      state: { set: { ...set, templates: new Map([['config', template]]) } },
    });
    return injection.outcome !== 'injected';
  });
}

/** More names make a policy too large. */
const MOST = 1_000;

/**
 * The namespaces whose LimitRanges may refuse a pod with this template, in their order. What they say about containers does
 * not depend on the rest of the pod; what they say about pods does.
 * @throws UnsupportedInCel
 */
function limitedNamespaces(
  { containers, initContainers }: Template,
  ranges: ReadonlyMap<string, readonly LimitRange[]> = new Map(),
): readonly string[] {
  const spec = { containers, initContainers };
  const isLimited = (those: readonly LimitRange[]) =>
    those.some(({ limits }) => limits.some((item) => ownString(item, 'type') === 'Pod')) ||
    limitRangeViolations({ spec }, those).length > 0;
  const found = [...ranges].flatMap(([namespace, those]) => (isLimited(those) ? [namespace] : []));
  if (found.length > MOST)
    throw new UnsupportedInCel(`more than ${MOST} namespaces have LimitRanges that may refuse pods with it`);
  return found.sort();
}

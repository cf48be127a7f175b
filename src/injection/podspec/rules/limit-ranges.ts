import { type JsonObject, own, ownObjects, ownString } from '../../../util/json.ts';
import { containers, initContainers, nameOf, type Pod, specField } from '../pod.ts';
import { type Amounts, amountsOf, requestsOf, totalOf } from './pod-resources.ts';

/** A LimitRange as the API server has it, or as it is in a file. */
export interface LimitRange {
  readonly name: string;
  readonly limits: readonly JsonObject[];
}

interface Usage {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

/** Of more LimitRanges in one namespace, the others are not tried as the first. */
const MOST_TRIED = 10;

/**
 * What the API server may refuse because of LimitRanges (k8s.io/kubernetes/plugin/pkg/admission/limitranger), once it has
 * set their defaults. Of several defaults it takes that of any LimitRange, another one for each pod.
 */
export function limitRangeViolations(pod: Pod, ranges: readonly LimitRange[]): readonly string[] {
  const tried = ranges.slice(0, MOST_TRIED);
  return [...new Set(tried.flatMap((first) => violationsAfter(first, pod, ranges)))];
}

function violationsAfter(first: LimitRange, pod: Pod, ranges: readonly LimitRange[]): readonly string[] {
  // The last one of a list takes precedence.
  const defaults = [...ranges, first].flatMap(({ limits }) =>
    limits.filter(isOf('Container')).map(withDefaults),
  );
  const named = [...containers(pod), ...initContainers(pod)].map(
    (container) => [`container ${nameOf(container)}`, usageOf(container, defaults)] as const,
  );
  const ofPod = usageOfPod(pod, defaults);
  return [
    // A default limit may be less than a request.
    ...named.flatMap(([what, { requests, limits: most }]) =>
      [...requests]
        .filter(([resource, request]) => request > (most.get(resource) ?? request))
        .map(
          ([resource]) =>
            `${what} requests more ${resource} than the default limit of a LimitRange: set a limit`,
        ),
    ),
    ...ranges.flatMap(({ name, limits }) => [
      ...limits
        .filter(isOf('Container'))
        .flatMap((item) => named.flatMap(([what, usage]) => itemViolations(what, usage, item, name))),
      ...limits.filter(isOf('Pod')).flatMap((item) => itemViolations('the pod', ofPod, item, name)),
    ]),
  ];
}

function isOf(type: string): (item: JsonObject) => boolean {
  return (item) => ownString(item, 'type') === type;
}

/** The defaults that the API server fills in (k8s.io/kubernetes/pkg/apis/core/v1/defaults.go, SetDefaults_LimitRangeItem). */
function withDefaults(item: JsonObject): Usage {
  const limits = new Map([...amountsOf(own(item, 'max')), ...amountsOf(own(item, 'default'))]);
  const requests = new Map([
    ...amountsOf(own(item, 'min')),
    ...limits,
    ...amountsOf(own(item, 'defaultRequest')),
  ]);
  return { limits, requests };
}

function usageOf(container: JsonObject, defaults: readonly Usage[]): Usage {
  const of = (list: keyof Usage) => defaults.flatMap((each) => [...each[list]]);
  return {
    limits: new Map([...of('limits'), ...amountsOf(own(own(container, 'resources'), 'limits'))]),
    requests: new Map([...of('requests'), ...requestsOf(container)]),
  };
}

function usageOfPod(pod: Pod, defaults: readonly Usage[]): Usage {
  const given = specField(pod, 'resources');
  const total = (list: keyof Usage) =>
    new Map([
      ...totalOf(pod, (container) => usageOf(container, defaults)[list]),
      ...amountsOf(own(given, list)),
    ]);
  return { requests: total('requests'), limits: total('limits') };
}

function itemViolations(what: string, { requests, limits }: Usage, item: JsonObject, name: string) {
  const found: string[] = [];
  const check = (bound: string, isBroken: (amount: bigint, request?: bigint, limit?: bigint) => boolean) => {
    for (const [resource, amount] of amountsOf(own(item, bound))) {
      if (!isBroken(amount, requests.get(resource), limits.get(resource))) continue;
      const most = String(own(own(item, bound), resource));
      found.push(`${what}: ${resource} violates ${bound} ${most} of LimitRange ${name}`);
    }
  };
  check('min', (min, request, limit) => request === undefined || request < min || (limit ?? min) < min);
  check('max', (max, request, limit) => limit === undefined || limit > max || (request ?? 0n) > max);
  check('maxLimitRequestRatio', (ratio, request = 0n, limit = 0n) => {
    // Both are in thousand-millionths.
    return request === 0n || limit === 0n || limit * 1_000_000_000n > ratio * request;
  });
  return found;
}

/** The LimitRange in an object of the API. */
export function limitRangeOf(object: unknown): LimitRange {
  const name = ownString(own(object, 'metadata'), 'name') ?? '';
  return { name, limits: ownObjects(own(object, 'spec'), 'limits') };
}

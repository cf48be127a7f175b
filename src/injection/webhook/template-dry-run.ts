import type { ApiError } from '../../kube/api/api-error.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { type DryRun, dryRunPod } from '../../kube/client/dry-run.ts';
import { toError } from '../../kube/util/errors.ts';
import { LruMap } from '../../kube/util/lru-map.ts';
import { withTimeout } from '../../kube/util/waits.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { tokenBucket } from '../../kube/workqueue/rate-limiters.ts';
import { type TextDiagnostic, textError } from '../../util/diagnostic.ts';
import { isObject, type JsonObject } from '../../util/json.ts';
import { plainPod, refusedFields, trialPod } from '../dry-run-pod.ts';
import type { Keys } from '../keys.ts';
import { annotation } from '../podspec/pod.ts';
import { POD_SHAPES, type PodShape } from '../template/pod-shapes.ts';
import type { Template } from '../template/template.ts';
import { type TemplateSet, templateKey } from '../template/template-set.ts';

/** What the API server thinks of templates. */
export interface DryRunResult {
  /** The templates, each with the shapes of pods that it does not fit. */
  readonly set: TemplateSet;
  /** Why the API server refuses every pod with one of the templates. */
  readonly faults: readonly TextDiagnostic[];
  /** Why templates could not be proved, if so. */
  readonly inconclusive: readonly string[];
}

/** What is refused because of a template, if anything; or why that is not known. */
type Verdict = { readonly refused: readonly string[] } | { readonly doubt: string };

type Client = Pick<KubeClient, 'request'>;

/** The API server waits 5 s for the answer to a review. */
const REVIEW_MS = 3_000;
/** Dry runs for reviews, which anyone may send. */
const REVIEW_DRY_RUNS = { ratePerSecond: 10, burst: 300 };
/** Sets whose proof is remembered: a webhook proves a set before it is stored, and again before it is adopted. */
const REMEMBERED = 8;
/** Admission plugins and policies that run after the API server has validated the pod. */
const AFTER_VALIDATION = /violates PodSecurity|(exceeded|failed) quota|ValidatingAdmissionPolicy '/;
/** The API server could not even read the pod. */
const UNREADABLE = /strict decoding error|cannot be handled as a Pod/;
/** The annotation by which the LimitRanger plugin says that it has set defaults. */
const LIMIT_RANGER = 'kubernetes.io/limit-ranger';

export type TemplateDryRun = ReturnType<typeof templateDryRun>;

/**
 * Asks the API server, by dry runs in the namespace, whether it accepts pods with a template: a plain pod, and one of each
 * shape. A template is only blamed for what validation says about a pod, if the same pod is accepted without it.
 */
export function templateDryRun(client: Client, clock: Clock, keys: Keys, namespace: string) {
  const budget = tokenBucket(clock, REVIEW_DRY_RUNS);
  const reviewClient: Client = {
    async request(...call) {
      if (!budget.tryTake())
        throw new Error('too many templates are under review: this one is tested when it is adopted');
      return await client.request(...call);
    },
  };
  let remembered = new LruMap<string, DryRunResult>(REMEMBERED);

  async function proveBy(
    asker: Client,
    set: TemplateSet,
    ms: number,
    signal: AbortSignal,
  ): Promise<DryRunResult> {
    const proved = remembered;
    const known = proved.get(set.hash);
    // The strategy needs no proof, and is not part of the hash.
    if (known) return { ...known, set: { ...known.set, rollout: set.rollout } };
    const faults: TextDiagnostic[] = [];
    const doubts = new Set<string>();
    const templates = new Map<string, Template>();
    for (const [name, template] of set.templates)
      templates.set(name, { ...template, incompatibleShapes: [] });
    const run = async (bounded: AbortSignal) => {
      const refusedOf = async (name: string, shape?: PodShape) => {
        const verdict = await judge(asker, set, name, shape, bounded);
        if ('refused' in verdict) return verdict.refused;
        doubts.add(verdict.doubt);
        return undefined;
      };
      const fitting: string[] = [];
      for (const name of set.templates.keys()) {
        const refused = await refusedOf(name);
        if (refused?.length === 0) fitting.push(name);
        for (const said of refused ?? []) {
          const message = `the API server refuses a pod with this template: ${said}`;
          faults.push({ ...textError(templateKey(name), message), reason: 'refused' });
        }
      }
      // A set with a fault is not used.
      if (faults.length > 0) return;
      for (const name of fitting) {
        for (const shape of POD_SHAPES) {
          const refused = (await refusedOf(name, shape)) ?? [];
          const template = templates.get(name);
          if (!template || refused.length === 0) continue;
          const incompatible = { shape, message: refused.join('; ') };
          const incompatibleShapes = [...template.incompatibleShapes, incompatible];
          templates.set(name, { ...template, incompatibleShapes });
        }
      }
    };
    try {
      await withTimeout(clock, ms, signal, run, 'proof');
    } catch (error) {
      signal.throwIfAborted();
      doubts.add(toError(error).message);
    }
    const proof = { set: { ...set, templates }, faults, inconclusive: [...doubts] };
    if (faults.length + doubts.size === 0) proved.set(set.hash, proof);
    return proof;
  }

  /** What the API server refuses in a pod of this shape because of the template. */
  async function judge(
    asker: Client,
    set: TemplateSet,
    template: string,
    shape: PodShape | undefined,
    signal: AbortSignal,
  ): Promise<Verdict> {
    const ask = (pod: JsonObject) => dryRunPod(asker, namespace, pod, signal);
    const key = templateKey(template);
    const trial = trialPod(set, template, keys, shape);
    if ('obstacle' in trial) return { doubt: `a plain pod does not get ${key}: ${trial.obstacle}` };
    const error = errorOf(await ask(trial.pod));
    if (!error) return { refused: [] };
    if (!isRefusal(error)) return { doubt: error.message };
    // The template may not be to blame: the API server may refuse or change pods without it, too.
    const plain = await ask(plainPod(keys, shape));
    const refused = errorOf(plain);
    const withTemplate = `with template ${key}: ${error.message}`;
    if (refused)
      return { doubt: `the API server refuses even a plain pod: ${refused.message}; ${withTemplate}` };
    if (plain.accepted && isObject(plain.pod) && annotation(plain.pod, LIMIT_RANGER) !== undefined)
      return { doubt: `a LimitRange changes the pods in namespace ${namespace}; ${withTemplate}` };
    return { refused: refusedFields(trial.pod, error) };
  }

  return {
    /** Forgets all proofs, also those that are under way: another version of the API server may see it otherwise. */
    forget(): void {
      remembered = new LruMap(REMEMBERED);
    },
    /** As `prove`, for a review: anyone may send reviews, so time and requests are limited. */
    review: (set: TemplateSet, signal: AbortSignal) => proveBy(reviewClient, set, REVIEW_MS, signal),
    /** Proves the templates, one request at a time, within the given milliseconds. Rejects only when the signal aborts. */
    prove: (set: TemplateSet, ms: number, signal: AbortSignal) => proveBy(client, set, ms, signal),
  };
}

/** What the author of the templates should know, although they can be used: one line each. */
export function proofWarnings({ set, inconclusive }: DryRunResult): readonly string[] {
  const incompatibleShapes = [...set.templates.values()].flatMap((template) =>
    template.incompatibleShapes.map(
      ({ shape, message }) =>
        `${templateKey(template.name)}: pods with ${shape.name} get no sidecar: ${message}`,
    ),
  );
  return [...incompatibleShapes, ...inconclusive.map((doubt) => `template dry run inconclusive: ${doubt}`)];
}

/** Why the pod may not be valid; undefined if it is, although a policy may refuse it. */
function errorOf(answer: DryRun): ApiError | undefined {
  if (answer.accepted) return undefined;
  const isValid = !isRefusal(answer.error) && AFTER_VALIDATION.test(answer.error.message);
  return isValid ? undefined : answer.error;
}

/** Whether validation refuses the pod. A policy also answers 422, but about `pods` and without a field. */
function isRefusal({ status, kind, fields, message }: ApiError): boolean {
  return (
    (status === 422 && kind === 'Pod' && fields.length > 0) || (status === 400 && UNREADABLE.test(message))
  );
}

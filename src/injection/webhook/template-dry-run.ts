import type { ApiError } from '../../kube/api/api-error.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { type DryRun, dryRunPod } from '../../kube/client/dry-run.ts';
import { LruMap } from '../../kube/util/lru-map.ts';
import { withTimeout } from '../../kube/util/with-timeout.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { TokenBucket } from '../../kube/workqueue/rate-limiters.ts';
import type { TextDiagnostic } from '../../util/diagnostic.ts';
import { isObject, type JsonObject } from '../../util/json.ts';
import { plainPod, refusals, refusedFields, trialPod } from '../dry-run-pod.ts';
import type { Keys } from '../keys.ts';
import { annotation } from '../podspec/pod.ts';
import { type IncompatibleShape, POD_SHAPES, type PodShape } from '../template/pod-shapes.ts';
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

export interface TemplateDryRunOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  readonly keys: Keys;
  /** The namespace of the dry runs: the operator's own. */
  readonly namespace: string;
}

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

/**
 * Asks the API server, by dry runs, whether it accepts pods with a template: a plain pod, and one of each shape. A template is
 * only blamed for what validation says about a pod, if the same pod is accepted without it.
 */
export class TemplateDryRun {
  readonly #options: TemplateDryRunOptions;
  readonly #reviewClient: TemplateDryRunOptions['client'];
  #proved = new LruMap<string, DryRunResult>(REMEMBERED);

  constructor(options: TemplateDryRunOptions) {
    this.#options = options;
    const { clock, client } = options;
    const budget = new TokenBucket({ clock, ...REVIEW_DRY_RUNS });
    this.#reviewClient = {
      async request(...call) {
        if (!budget.tryTake())
          throw new Error('too many templates are under review: this one is tested when it is adopted');
        return await client.request(...call);
      },
    };
  }

  /** Forgets all proofs, also those that are under way: another version of the API server may see it otherwise. */
  forget(): void {
    this.#proved = new LruMap(REMEMBERED);
  }

  /** As `prove`, for a review: anyone may send reviews, so time and requests are limited. */
  review(set: TemplateSet, signal: AbortSignal): Promise<DryRunResult> {
    return this.#prove({ ...this.#options, client: this.#reviewClient }, set, REVIEW_MS, signal);
  }

  /** Proves the templates, one request at a time, within the given milliseconds. Rejects only when the signal aborts. */
  prove(set: TemplateSet, ms: number, signal: AbortSignal): Promise<DryRunResult> {
    return this.#prove(this.#options, set, ms, signal);
  }

  async #prove(
    options: TemplateDryRunOptions,
    set: TemplateSet,
    ms: number,
    signal: AbortSignal,
  ): Promise<DryRunResult> {
    const proved = this.#proved;
    const known = proved.get(set.hash);
    // The strategy needs no proof, and is not part of the hash.
    if (known) return { ...known, set: { ...known.set, rollout: set.rollout } };
    const trial = new Trial(options, set);
    try {
      await withTimeout(options.clock, ms, signal, (bounded) => trial.run(bounded), 'proof');
    } catch (error) {
      signal.throwIfAborted();
      trial.inconclusive.add(error instanceof Error ? error.message : String(error));
    }
    const proof = trial.result();
    if (proof.faults.length === 0 && proof.inconclusive.length === 0) proved.set(set.hash, proof);
    return proof;
  }
}

/** What is known of one template: what is refused, if anything, or nothing certain. */
type Refused = readonly string[] | 'unknown';

/** One dry run of a set. */
class Trial {
  readonly inconclusive = new Set<string>();
  readonly #faults: TextDiagnostic[] = [];
  readonly #shapes = new Map<string, readonly IncompatibleShape[]>();
  readonly #options: TemplateDryRunOptions;
  readonly #set: TemplateSet;

  constructor(options: TemplateDryRunOptions, set: TemplateSet) {
    this.#options = options;
    this.#set = set;
  }

  async run(signal: AbortSignal): Promise<void> {
    const fitting: Template[] = [];
    for (const template of this.#set.templates.values()) {
      const refused = await this.#refused(template, undefined, signal);
      if (refused === 'unknown') continue;
      this.#faults.push(...refusals(template, refused));
      if (refused.length === 0) fitting.push(template);
    }
    // A set with a fault is not used.
    if (this.#faults.length > 0) return;
    for (const template of fitting) {
      const shapes: IncompatibleShape[] = [];
      this.#shapes.set(template.name, shapes);
      for (const shape of POD_SHAPES) {
        const refused = await this.#refused(template, shape, signal);
        if (refused === 'unknown' || refused.length === 0) continue;
        shapes.push({ shape, message: refused.join('; ') });
      }
    }
  }

  result(): DryRunResult {
    const templates = Array.from(this.#set.templates, ([name, template]) => {
      return [name, { ...template, incompatibleShapes: this.#shapes.get(name) ?? [] }] as const;
    });
    const set = { ...this.#set, templates: new Map(templates) };
    return { set, faults: this.#faults, inconclusive: [...this.inconclusive] };
  }

  /** What the API server refuses in a pod of this shape because of the template. */
  async #refused(template: Template, shape: PodShape | undefined, signal: AbortSignal): Promise<Refused> {
    const { client, keys, namespace } = this.#options;
    const ask = (pod: JsonObject) => dryRunPod(client, namespace, pod, signal);
    const key = templateKey(template.name);
    const unknown = (why: string): Refused => {
      this.inconclusive.add(why);
      return 'unknown';
    };
    const trial = trialPod(this.#set, template.name, keys, shape);
    if ('obstacle' in trial) return unknown(`a plain pod does not get ${key}: ${trial.obstacle}`);
    const error = errorOf(await ask(trial.pod));
    if (!error) return [];
    if (!isRefusal(error)) return unknown(error.message);
    // The template may not be to blame: the API server may refuse or change pods without it, too.
    const plain = await ask(plainPod(keys, shape));
    const refused = errorOf(plain);
    if (refused)
      return unknown(
        `the API server refuses even a plain pod: ${refused.message}; with template ${key}: ${error.message}`,
      );
    if (plain.accepted && isObject(plain.pod) && annotation(plain.pod, LIMIT_RANGER) !== undefined)
      return unknown(
        `a LimitRange changes the pods in namespace ${namespace}; with template ${key}: ${error.message}`,
      );
    return refusedFields(trial.pod, error);
  }
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

import type { ApiError } from '../../kube/api/api-error.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { type DryRun, dryRunPod } from '../../kube/client/dry-run.ts';
import { LruMap } from '../../kube/util/lru-map.ts';
import { withTimeout } from '../../kube/util/with-timeout.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { TokenBucket } from '../../kube/workqueue/token-bucket.ts';
import { formatDiagnostic, formatPath, type TextDiagnostic } from '../../util/diagnostic.ts';
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

/** The texts of the templates, for the places of faults. */
export type TemplateTexts = Readonly<Record<string, string>>;

export interface TemplateDryRunOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  readonly keys: Keys;
  /** The namespace of the dry runs: the operator's own. */
  readonly namespace: string;
}

/** More templates are not proved at once. */
const MAX_TEMPLATES = 50;
/** The API server waits 5 s for the answer to a review. */
const REVIEW_MS = 3_000;
/** Dry runs for reviews, which anyone may send. The burst proves a set of the most templates. */
const REVIEW_DRY_RUNS = { ratePerSecond: 10, burst: MAX_TEMPLATES * (1 + POD_SHAPES.length) };
/** Sets whose proof is remembered: a webhook proves a set before it is stored, and again before it is adopted. */
const REMEMBERED = 8;
/** Templates whose proof is remembered: of a set that changes, only those that have changed are proved again. */
const REMEMBERED_TEMPLATES = 1_000;
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
  #incompatibleShapes = new LruMap<string, readonly IncompatibleShape[]>(REMEMBERED_TEMPLATES);

  constructor(options: TemplateDryRunOptions) {
    this.#options = options;
    const { clock, client } = options;
    const budget = new TokenBucket({ clock, ...REVIEW_DRY_RUNS });
    this.#reviewClient = {
      async request(...call) {
        if (!budget.tryTake())
          throw new Error('there were too many reviews of templates: it is proved when it is adopted');
        return await client.request(...call);
      },
    };
  }

  /** Forgets all proofs, also those that are under way: another version of the API server may see it otherwise. */
  forget(): void {
    this.#proved = new LruMap(REMEMBERED);
    this.#incompatibleShapes = new LruMap(REMEMBERED_TEMPLATES);
  }

  /** As `prove`, for a review: anyone may send reviews, so time and requests are limited. */
  review(set: TemplateSet, texts: TemplateTexts, signal: AbortSignal): Promise<DryRunResult> {
    return this.#prove({ ...this.#options, client: this.#reviewClient }, set, texts, REVIEW_MS, signal);
  }

  /** Proves the templates, one request at a time, within the given milliseconds. Rejects only when the signal aborts. */
  prove(set: TemplateSet, texts: TemplateTexts, ms: number, signal: AbortSignal): Promise<DryRunResult> {
    return this.#prove(this.#options, set, texts, ms, signal);
  }

  async #prove(
    options: TemplateDryRunOptions,
    set: TemplateSet,
    texts: TemplateTexts,
    ms: number,
    signal: AbortSignal,
  ): Promise<DryRunResult> {
    const proved = this.#proved;
    const known = proved.get(set.hash);
    // The strategy needs no proof, and is not part of the hash.
    if (known && known.set.rollout === set.rollout) return known;
    if (known) return { ...known, set: { ...known.set, rollout: set.rollout } };
    const trial = new Trial(options, set, this.#incompatibleShapes);
    try {
      await withTimeout(options.clock, ms, signal, (bounded) => trial.run(texts, bounded), 'proof');
    } catch (error) {
      signal.throwIfAborted();
      trial.doubt(error);
    }
    const proof = trial.result();
    if (proof.faults.length === 0 && proof.inconclusive.length === 0) proved.set(set.hash, proof);
    return proof;
  }
}

/** What is known of one template: the fields that are refused, if any, or nothing certain. */
type Refused = ReturnType<typeof refusedFields> | 'unknown';

/** One dry run of a set. */
class Trial {
  readonly #faults: TextDiagnostic[] = [];
  readonly #inconclusive = new Set<string>();
  readonly #incompatibleShapes = new Map<string, readonly IncompatibleShape[]>();
  readonly #options: TemplateDryRunOptions;
  readonly #set: TemplateSet;
  /** The shapes of templates that were proved before, by `#keyOf`. */
  readonly #known: LruMap<string, readonly IncompatibleShape[]>;

  constructor(
    options: TemplateDryRunOptions,
    set: TemplateSet,
    known: LruMap<string, readonly IncompatibleShape[]>,
  ) {
    this.#options = options;
    this.#set = set;
    this.#known = known;
  }

  async run(texts: TemplateTexts, signal: AbortSignal): Promise<void> {
    const open: Template[] = [];
    for (const template of this.#set.templates.values()) {
      const shapes = this.#known.get(this.#keyOf(template));
      if (shapes) this.#incompatibleShapes.set(template.name, shapes);
      else open.push(template);
    }
    if (open.length > MAX_TEMPLATES) this.doubt(`only ${MAX_TEMPLATES} templates are proved at once`);
    const fitting: Template[] = [];
    for (const template of open.slice(0, MAX_TEMPLATES)) {
      const refused = await this.#refused(template, undefined, signal);
      if (refused === 'unknown') continue;
      const text = texts[templateKey(template.name)] ?? '';
      this.#faults.push(...refusals(template, text, refused));
      if (refused.length === 0) fitting.push(template);
    }
    // A set with a fault is not used.
    if (this.#faults.length > 0) return;
    for (const template of fitting) await this.#proveShapes(template, signal);
  }

  doubt(error: unknown): void {
    this.#inconclusive.add(error instanceof Error ? error.message : String(error));
  }

  result(): DryRunResult {
    const templates = new Map(
      [...this.#set.templates].map(([name, template]) => [
        name,
        { ...template, incompatibleShapes: this.#incompatibleShapes.get(name) ?? [] },
      ]),
    );
    return { set: { ...this.#set, templates }, faults: this.#faults, inconclusive: [...this.#inconclusive] };
  }

  /** All that the pods of a trial depend on. */
  #keyOf({ name, hash }: Template): string {
    return JSON.stringify([name, hash, this.#set.options]);
  }

  async #proveShapes(template: Template, signal: AbortSignal): Promise<void> {
    const shapes: IncompatibleShape[] = [];
    this.#incompatibleShapes.set(template.name, shapes);
    let isSure = true;
    for (const shape of POD_SHAPES) {
      const refused = await this.#refused(template, shape, signal);
      if (refused === 'unknown') isSure = false;
      else if (refused.length > 0) shapes.push({ shape, message: refused.map(formatRefused).join('; ') });
    }
    if (isSure) this.#known.set(this.#keyOf(template), shapes);
  }

  /** What the API server refuses in a pod of this shape because of the template. */
  async #refused(template: Template, shape: PodShape | undefined, signal: AbortSignal): Promise<Refused> {
    const trial = trialPod(this.#set, template.name, this.#options.keys, shape);
    const key = templateKey(template.name);
    if ('obstacle' in trial) return this.#unknown(`a plain pod does not get ${key}: ${trial.obstacle}`);
    const error = errorOf(await this.#ask(trial.pod, signal));
    if (!error) return [];
    if (!isRefusal(error)) return this.#unknown(error.message);
    const excuse = await this.#excuse(shape, signal);
    if (excuse !== undefined) return this.#unknown(`${excuse}; ${key}: ${error.message}`);
    return refusedFields(template, trial.pod, error);
  }

  /** Why the template may not be to blame: the API server refuses or changes pods without a template, too. */
  async #excuse(shape: PodShape | undefined, signal: AbortSignal): Promise<string | undefined> {
    const { keys, namespace } = this.#options;
    const answer = await this.#ask(plainPod(keys, shape), signal);
    const error = errorOf(answer);
    if (error) return `a pod without a template is refused, too: ${error.message}`;
    const isChanged =
      answer.accepted && annotation(isObject(answer.pod) ? answer.pod : {}, LIMIT_RANGER) !== undefined;
    return isChanged ? `a LimitRange changes the pods of namespace ${namespace}` : undefined;
  }

  #unknown(why: string): 'unknown' {
    this.#inconclusive.add(why);
    return 'unknown';
  }

  #ask(pod: JsonObject, signal: AbortSignal): Promise<DryRun> {
    const { client, namespace } = this.#options;
    return dryRunPod(client, namespace, pod, signal);
  }
}

function formatRefused({ path, message }: Exclude<Refused, 'unknown'>[number]): string {
  return formatDiagnostic({ ...(path && { path: formatPath(path) }), message });
}

/** What the author of the templates should know, although they can be used: one line each. */
export function proofWarnings({ set, inconclusive }: DryRunResult): readonly string[] {
  const incompatibleShapes = [...set.templates.values()].flatMap((template) =>
    template.incompatibleShapes.map(
      ({ shape, message }) =>
        `${templateKey(template.name)}: pods with ${shape.name} get no sidecar: ${message}`,
    ),
  );
  return [
    ...incompatibleShapes,
    ...inconclusive.map((doubt) => `the API server could not prove the templates: ${doubt}`),
  ];
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

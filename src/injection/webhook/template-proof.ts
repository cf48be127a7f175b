import type { ApiError } from '../../kube/api/api-error.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { type DryRun, dryRunPod } from '../../kube/client/dry-run.ts';
import { LruMap } from '../../kube/util/lru-map.ts';
import { withTimeout } from '../../kube/util/with-timeout.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { TokenBucket } from '../../kube/workqueue/token-bucket.ts';
import type { Fault } from '../../util/diagnostic.ts';
import { isObject, type JsonObject } from '../../util/json.ts';
import { formatPath } from '../../util/path.ts';
import type { Keys } from '../keys.ts';
import { annotation } from '../podspec/pod.ts';
import { type Misfit, POD_SHAPES, type PodShape } from '../template/pod-shapes.ts';
import type { Template } from '../template/template.ts';
import { type TemplateSet, templateKey } from '../template/template-set.ts';
import { refusalFaults, refusedFields } from '../template-field.ts';
import { plainPod, trialPod } from '../trial-pod.ts';

/** What the API server thinks of templates. */
export interface Proof {
  /** The templates, each with the shapes of pods that it does not fit. */
  readonly set: TemplateSet;
  /** Why the API server refuses every pod with one of the templates. */
  readonly faults: readonly Fault[];
  /** Why templates could not be proved, if so. */
  readonly doubts: readonly string[];
}

/** The texts of the templates, for the places of faults. */
export type TemplateTexts = Readonly<Record<string, string>>;

export interface TemplateProverOptions {
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
export class TemplateProver {
  readonly #options: TemplateProverOptions;
  readonly #reviewClient: TemplateProverOptions['client'];
  #proved = new LruMap<string, Proof>(REMEMBERED);
  #misfits = new LruMap<string, readonly Misfit[]>(REMEMBERED_TEMPLATES);

  constructor(options: TemplateProverOptions) {
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
    this.#misfits = new LruMap(REMEMBERED_TEMPLATES);
  }

  /** As `prove`, for a review: anyone may send reviews, so time and requests are limited. */
  review(set: TemplateSet, texts: TemplateTexts, signal: AbortSignal): Promise<Proof> {
    return this.#prove({ ...this.#options, client: this.#reviewClient }, set, texts, REVIEW_MS, signal);
  }

  /** Proves the templates, one request at a time, within the given milliseconds. Rejects only when the signal aborts. */
  prove(set: TemplateSet, texts: TemplateTexts, ms: number, signal: AbortSignal): Promise<Proof> {
    return this.#prove(this.#options, set, texts, ms, signal);
  }

  async #prove(
    options: TemplateProverOptions,
    set: TemplateSet,
    texts: TemplateTexts,
    ms: number,
    signal: AbortSignal,
  ): Promise<Proof> {
    const proved = this.#proved;
    const known = proved.get(set.hash);
    // The strategy needs no proof, and is not part of the hash.
    if (known && known.set.rollout === set.rollout) return known;
    if (known) return { ...known, set: { ...known.set, rollout: set.rollout } };
    const trial = new Trial(options, set, texts, this.#misfits);
    try {
      await withTimeout(options.clock, ms, signal, (bounded) => trial.run(bounded), 'proof');
    } catch (error) {
      signal.throwIfAborted();
      trial.doubt(error);
    }
    const proof = trial.proof();
    if (proof.faults.length === 0 && proof.doubts.length === 0) proved.set(set.hash, proof);
    return proof;
  }
}

/** One proof of a set. */
class Trial {
  readonly #options: TemplateProverOptions;
  readonly #set: TemplateSet;
  readonly #texts: TemplateTexts;
  readonly #faults: Fault[] = [];
  readonly #doubts = new Set<string>();
  readonly #misfits = new Map<string, readonly Misfit[]>();
  /** The misfits of templates that were proved before, by `#keyOf`. */
  readonly #known: LruMap<string, readonly Misfit[]>;

  constructor(
    options: TemplateProverOptions,
    set: TemplateSet,
    texts: TemplateTexts,
    known: LruMap<string, readonly Misfit[]>,
  ) {
    this.#options = options;
    this.#set = set;
    this.#texts = texts;
    this.#known = known;
  }

  async run(signal: AbortSignal): Promise<void> {
    const open: Template[] = [];
    for (const template of this.#set.templates.values()) {
      const misfits = this.#known.get(this.#keyOf(template));
      if (misfits) this.#misfits.set(template.name, misfits);
      else open.push(template);
    }
    if (open.length > MAX_TEMPLATES) this.doubt(`only ${MAX_TEMPLATES} templates are proved at once`);
    const fitting: Template[] = [];
    for (const template of open.slice(0, MAX_TEMPLATES)) {
      const refused = await this.#refused(template, undefined, signal);
      if (refused === 'nothing') fitting.push(template);
      else if (refused !== 'unknown') this.#blame(template, refused);
    }
    // A set with a fault is not used.
    if (this.#faults.length > 0) return;
    for (const template of fitting) await this.#proveShapes(template, signal);
  }

  /** All that the pods of a trial depend on. */
  #keyOf({ name, hash }: Template): string {
    return JSON.stringify([name, hash, this.#set.options]);
  }

  #blame(template: Template, refused: ReturnType<typeof refusedFields>): void {
    const text = this.#texts[templateKey(template.name)] ?? '';
    this.#faults.push(...refusalFaults(template, text, refused));
  }

  doubt(error: unknown): void {
    this.#doubts.add(error instanceof Error ? error.message : String(error));
  }

  proof(): Proof {
    const templates = new Map(
      [...this.#set.templates].map(([name, template]) => [
        name,
        { ...template, misfits: this.#misfits.get(name) ?? [] },
      ]),
    );
    return { set: { ...this.#set, templates }, faults: this.#faults, doubts: [...this.#doubts] };
  }

  async #proveShapes(template: Template, signal: AbortSignal): Promise<void> {
    const misfits: Misfit[] = [];
    this.#misfits.set(template.name, misfits);
    let isSure = true;
    for (const shape of POD_SHAPES) {
      const refused = await this.#refused(template, shape, signal);
      isSure &&= refused !== 'unknown';
      if (typeof refused === 'string') continue;
      const message = refused
        .map(({ path, message: said }) => (path ? `${formatPath(path)}: ${said}` : said))
        .join('; ');
      misfits.push({ shape, message });
    }
    if (isSure) this.#known.set(this.#keyOf(template), misfits);
  }

  /** What the API server refuses in a pod of this shape because of the template: nothing, or not known to be anything. */
  async #refused(
    template: Template,
    shape: PodShape | undefined,
    signal: AbortSignal,
  ): Promise<ReturnType<typeof refusedFields> | 'nothing' | 'unknown'> {
    const trial = trialPod(this.#set, template.name, this.#options.keys, shape);
    const key = templateKey(template.name);
    if ('obstacle' in trial) return this.#unknown(`a plain pod does not get ${key}: ${trial.obstacle}`);
    const verdict = verdictOf(await this.#ask(trial.pod, signal));
    if (verdict === 'accepted') return 'nothing';
    if ('doubt' in verdict) return this.#unknown(verdict.doubt);
    const excuse = await this.#excuse(shape, signal);
    return excuse === undefined
      ? refusedFields(template, trial.pod, verdict.refusal)
      : this.#unknown(`${excuse}; ${key}: ${verdict.refusal.message}`);
  }

  /** Why the template may not be to blame: the API server refuses or changes pods without a template, too. */
  async #excuse(shape: PodShape | undefined, signal: AbortSignal): Promise<string | undefined> {
    const { keys, namespace } = this.#options;
    const answer = await this.#ask(plainPod(keys, shape), signal);
    if (!answer.accepted && verdictOf(answer) !== 'accepted')
      return `a pod without a template is refused, too: ${answer.error.message}`;
    const isChanged =
      answer.accepted && annotation(isObject(answer.pod) ? answer.pod : {}, LIMIT_RANGER) !== undefined;
    return isChanged ? `a LimitRange changes the pods of namespace ${namespace}` : undefined;
  }

  #unknown(why: string): 'unknown' {
    this.#doubts.add(why);
    return 'unknown';
  }

  #ask(pod: JsonObject, signal: AbortSignal): Promise<DryRun> {
    const { client, namespace } = this.#options;
    return dryRunPod(client, namespace, pod, signal);
  }
}

/** What the author of the templates should know, although they can be used: one line each. */
export function proofWarnings({ set, doubts }: Proof): readonly string[] {
  const misfits = [...set.templates.values()].flatMap((template) =>
    template.misfits.map(
      ({ shape, message }) =>
        `${templateKey(template.name)}: pods with ${shape.name} get no sidecar: ${message}`,
    ),
  );
  return [...misfits, ...doubts.map((doubt) => `the API server could not prove the templates: ${doubt}`)];
}

type Verdict = 'accepted' | { readonly refusal: ApiError } | { readonly doubt: string };

function verdictOf(answer: DryRun): Verdict {
  if (answer.accepted) return 'accepted';
  const { error } = answer;
  const { status, kind, fields, message } = error;
  // A policy also answers 422, but about `pods` and without a field.
  if (status === 422 && kind === 'Pod' && fields.length > 0) return { refusal: error };
  if (status === 400 && UNREADABLE.test(message)) return { refusal: error };
  return AFTER_VALIDATION.test(message) ? 'accepted' : { doubt: message };
}

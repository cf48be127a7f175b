import { type ApiError, ifFound, isConflict, isNotFound, isRefused } from '../../../kube/api/api-error.ts';
import { POD_METADATA, PODS } from '../../../kube/api/core-resources.ts';
import { type KubeObject, refOf } from '../../../kube/api/object.ts';
import type { Lister } from '../../../kube/cache/store.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Result } from '../../../kube/controller/controller.ts';
import { isObject, own, ownString } from '../../../util/json.ts';
import { addTo, type Tally } from './progress.ts';
import { TOUCH } from './resources.ts';

export interface SidecarsOptions {
  readonly client: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly pods: Pick<Lister<KubeObject>, 'get' | 'byIndex'>;
  /** Whether to change an annotation of pods that run older routes. */
  readonly touch: boolean;
  ask(address: string, signal: AbortSignal): Promise<string | undefined>;
  /** A monotonic time in milliseconds. */
  now(): number;
  wallClock(): Date;
  /** A sidecar has confirmed the current routes, this long after they were written. */
  taken(seconds: number): void;
  /** The API server refuses to let the pod be touched. */
  refused(pod: KubeObject, refusal: ApiError): void;
  /** What sidecars run has changed. */
  recount(): void;
}

/** The index of the pods that mount the file, by namespace. */
export const ROUTED_IN = 'routed';

/** About as long as the kubelet takes: questions take time from it. */
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 5000;
const RETOUCH_MS = 2000;
const MAX_TOUCHES = 5;
/** A sidecar that answers is asked until the kubelet has mounted the file without a touch, too. */
const MAX_ASKS = 40;
/** One that never answers may be starting, or out of reach. */
const MAX_ASKS_IN_VAIN = 12;
const ASKS_BEFORE_BLIND_TOUCH = 4;
const BLIND_TOUCHES = 2;
/** Sidecars that did not answer last time cost a second each. Some of 32 workers are left for the others. */
const MAX_SILENT_AT_ONCE = 24;
const TURN_MS = 250;
const TURNS = 20;
/** A namespace whose file cannot be written holds up the numbers of a new term no longer. */
const LONGEST_SURVEY_MS = 30_000;
/** Each route asks whether the survey has ended, and a look at it takes all pods. */
const SURVEY_LOOK_MS = 250;

/** What is known about a sidecar. */
interface Sidecar {
  readonly namespace: string;
  address: string | undefined;
  /** The version that it runs; undefined before its first answer. */
  version: string | undefined;
  /** The version that it should run, and what was done for it. */
  target: string;
  /** Whether it was asked in this term, or has not started. */
  isAsked: boolean;
  /** Whether it did not answer last time. */
  isSilent: boolean;
  asks: number;
  touches: number;
  touchedAt: number;
  /** It is not asked before. A touch is an update of the pod, so it comes here earlier. */
  askAt: number;
}

interface Delivered {
  readonly version: string;
  readonly writtenAt: number | undefined;
}

/**
 * Brings the delivered file into running sidecars. A change of an annotation makes the kubelet mount it, and the sidecar
 * then answers with its version.
 */
export class Sidecars {
  readonly #options: SidecarsOptions;
  readonly #known = new Map<string, Sidecar>();
  readonly #delivered = new Map<string, Delivered>();
  /** By namespace. Of all that are known, not of the cache: a pod that has gone from it is forgotten a moment later. */
  readonly #tallies = new Map<string, Map<string, number>>();
  #surveyEndsAt: number | undefined;
  #nextLookAt = 0;
  /** How many silent sidecars are being asked, and how many were sent away meanwhile. */
  #silentAtOnce = 0;
  #sentAway = 0;

  constructor(options: SidecarsOptions) {
    this.#options = options;
  }

  /** Notes the file of a namespace. Returns true if its sidecars must be told. */
  delivered(namespace: string, version: string, isNew: boolean): boolean {
    if (this.#delivered.get(namespace)?.version === version) return false;
    this.#delivered.set(namespace, { version, writtenAt: isNew ? this.#options.now() : undefined });
    return true;
  }

  /** Forgets a deleted pod. */
  forget({ metadata: { uid = '' } }: KubeObject): void {
    const known = this.#known.get(uid);
    this.#known.delete(uid);
    if (known) this.#recount(known.namespace, known.version, undefined);
  }

  /** Forgets the file of a namespace that has none any more. */
  forgetFile(namespace: string): void {
    this.#delivered.delete(namespace);
    this.#options.recount();
  }

  /** Forgets all: the next term asks again. */
  clear(): void {
    for (const each of [this.#known, this.#delivered, this.#tallies]) each.clear();
    this.#surveyEndsAt = undefined;
    this.#nextLookAt = 0;
  }

  /** The versions in a namespace. */
  tally(namespace: string): Tally {
    return this.#tallies.get(namespace) ?? new Map();
  }

  /** Whether all sidecars in these namespaces were asked once in this term. Until then, numbers are too low. */
  isSurveyed(namespaces: () => readonly string[]): boolean {
    const now = this.#options.now();
    this.#surveyEndsAt ??= now + LONGEST_SURVEY_MS;
    if (now >= this.#surveyEndsAt) return true;
    if (now < this.#nextLookAt) return false;
    this.#nextLookAt = now + SURVEY_LOOK_MS;
    if (!namespaces().every((namespace) => this.#isAsked(namespace))) return false;
    this.#surveyEndsAt = now;
    return true;
  }

  #isAsked(namespace: string): boolean {
    const pods = this.#options.pods.byIndex(ROUTED_IN, namespace);
    return (
      this.#delivered.has(namespace) &&
      pods.every(({ metadata: { uid = '' } }) => this.#known.get(uid)?.isAsked)
    );
  }

  #recount(namespace: string, before: string | undefined, after: string | undefined): void {
    const tally = this.#tallies.get(namespace) ?? new Map<string, number>();
    if (before !== undefined) addTo(tally, before, -1);
    if (after !== undefined) addTo(tally, after, 1);
    if (tally.size > 0) this.#tallies.set(namespace, tally);
    else this.#tallies.delete(namespace);
    this.#options.recount();
  }

  /** How many sidecars are known to run older routes than they should. */
  behind(): number {
    return [...this.#known.values()].filter(
      ({ version, target }) => version !== undefined && version !== target,
    ).length;
  }

  /** The key is that of a pod. */
  async reconcile(key: string, signal: AbortSignal): Promise<Result> {
    const pod = this.#options.pods.get(key);
    const { uid, namespace } = pod?.metadata ?? {};
    const delivered = this.#delivered.get(namespace ?? '');
    if (!pod || uid === undefined || namespace === undefined || !delivered) return {};
    const sidecar = this.#sidecar(uid, namespace, delivered.version);
    if (sidecar.version === sidecar.target) return {};
    if (this.#options.touch && sidecar.version !== undefined && sidecar.touches === 0) {
      await this.#touch(pod, sidecar, signal);
      return this.#askLater(sidecar);
    }
    const early = sidecar.askAt - this.#options.now();
    if (early > 0) return { requeueAfterMs: early };
    if (sidecar.isSilent && this.#silentAtOnce >= MAX_SILENT_AT_ONCE) {
      this.#sentAway += 1;
      return { requeueAfterMs: TURN_MS * (1 + (this.#sentAway % TURNS)) };
    }
    const answer = await this.#ask(pod, sidecar, signal);
    sidecar.isAsked = true;
    // The pod has not started. Its next update brings it here.
    if (sidecar.address === undefined) return {};
    if (answer === undefined) sidecar.address = undefined;
    else this.#answered(uid, sidecar, answer, delivered);
    if (answer === sidecar.target) return {};
    sidecar.asks += 1;
    if (this.#isDue(sidecar, answer)) await this.#touch(pod, sidecar, signal);
    const limit = sidecar.version === undefined ? MAX_ASKS_IN_VAIN : MAX_ASKS;
    if (sidecar.asks >= limit) return {};
    return this.#askLater(sidecar);
  }

  #askLater(sidecar: Sidecar): Result {
    const requeueAfterMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 1.5 ** sidecar.asks);
    sidecar.askAt = this.#options.now() + requeueAfterMs;
    return { requeueAfterMs };
  }

  async #ask(pod: KubeObject, sidecar: Sidecar, signal: AbortSignal): Promise<string | undefined> {
    const share = sidecar.isSilent ? 1 : 0;
    this.#silentAtOnce += share;
    try {
      if (sidecar.address === undefined) await this.#look(pod, sidecar, signal);
      if (sidecar.address === undefined) return undefined;
      const answer = await this.#options.ask(sidecar.address, signal);
      sidecar.isSilent = answer === undefined;
      return answer;
    } finally {
      this.#silentAtOnce -= share;
    }
  }

  #sidecar(uid: string, namespace: string, target: string): Sidecar {
    const known = this.#known.get(uid);
    const never = Number.NEGATIVE_INFINITY;
    const fresh = { target, asks: 0, touches: 0, touchedAt: never, askAt: never };
    if (known) return known.target === target ? known : Object.assign(known, fresh);
    const sidecar = {
      ...{ namespace, address: undefined, version: undefined },
      ...{ isAsked: false, isSilent: false },
      ...fresh,
    };
    this.#known.set(uid, sidecar);
    return sidecar;
  }

  #answered(uid: string, sidecar: Sidecar, answer: string, { writtenAt }: Delivered): void {
    const { namespace, version } = sidecar;
    sidecar.version = answer;
    // Its pod may have gone meanwhile.
    if (answer !== version && this.#known.get(uid) === sidecar) this.#recount(namespace, version, answer);
    if (answer === sidecar.target && writtenAt !== undefined && sidecar.touches > 0) {
      this.#options.taken((this.#options.now() - writtenAt) / 1000);
    }
  }

  /** The kubelet may have been touched before it saw the new file. A sidecar that does not answer may have the old one. */
  #isDue({ touches, touchedAt, asks }: Sidecar, answer: string | undefined): boolean {
    const isSoon = this.#options.now() - touchedAt < RETOUCH_MS * 2 ** Math.max(0, touches - 1);
    if (isSoon) return false;
    return answer === undefined
      ? asks >= ASKS_BEFORE_BLIND_TOUCH && touches < BLIND_TOUCHES
      : touches < MAX_TOUCHES;
  }

  async #touch({ metadata }: KubeObject, sidecar: Sidecar, signal: AbortSignal): Promise<void> {
    const { client, touch, now, wallClock } = this.#options;
    if (!touch) return;
    // The same text again would be no change.
    const value = `${sidecar.target} ${wallClock().toISOString()}`;
    const patch = { metadata: { uid: metadata.uid, annotations: { [TOUCH]: value } } };
    try {
      await client.mergePatch(POD_METADATA, refOf({ metadata }), patch, { signal });
    } catch (err) {
      // The pod is gone, or another one has its name.
      if (isRefused(err)) this.#options.refused({ metadata }, err);
      else if (!isNotFound(err) && !isConflict(err)) throw err;
    }
    // Also without a touch the kubelet mounts the file, only later.
    sidecar.touches += 1;
    sidecar.touchedAt = now();
  }

  /** Reads the pod: where its sidecar is. */
  async #look(pod: KubeObject, sidecar: Sidecar, signal: AbortSignal): Promise<void> {
    const found = await ifFound(this.#options.client.get(PODS, refOf(pod), { signal }));
    if (found?.metadata.uid !== pod.metadata.uid || !isObject(found)) return;
    sidecar.address = ownString(own(found, 'status'), 'podIP');
  }
}

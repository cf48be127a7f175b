import type { KubeObject } from '../../../kube/api/object.ts';

export interface SurveyOptions {
  /** A monotonic time in milliseconds. */
  now(): number;
  /** The pods in a namespace whose sidecars are to be asked. */
  podsIn(namespace: string): readonly KubeObject[];
  /** Whether the file of a namespace is in place. */
  hasFile(namespace: string): boolean;
  /** Whether the sidecar of a pod was asked in this term, by the pod's UID. */
  isAsked(uid: string): boolean;
}

const LONGEST_MS = 30_000;

/** Knows whether all sidecars were asked once in this term. Each route wants to know, so what was found is kept. */
export class Survey {
  readonly #options: SurveyOptions;
  /** Namespaces in which no sidecar is to be asked. */
  readonly #refused = new Set<string>();
  #endsAt: number | undefined;
  /** Namespaces in which sidecars are still to be asked; undefined before the first question. */
  #left: Set<string> | undefined;
  /** The UID of one of these sidecars. */
  #unasked: string | undefined;

  constructor(options: SurveyOptions) {
    this.#options = options;
  }

  /** The file of a namespace cannot be delivered. */
  refused(namespace: string): void {
    this.#refused.add(namespace);
  }

  /** Forgets a deleted pod. */
  forget(uid: string): void {
    if (uid === this.#unasked) this.#unasked = undefined;
  }

  /** Forgets a namespace that has no file any more. */
  forgetFile(namespace: string): void {
    this.#refused.delete(namespace);
    this.#left?.delete(namespace);
    // It may be a sidecar there, which is not asked any more.
    this.#unasked = undefined;
  }

  /** The next term asks again. */
  clear(): void {
    this.#refused.clear();
    this.#endsAt = undefined;
    this.#left = undefined;
    this.#unasked = undefined;
  }

  /** Whether it has ended in these namespaces. One whose file cannot be written holds it up for 30 s at most. */
  isDone(namespaces: () => Iterable<string>): boolean {
    const { now, isAsked } = this.#options;
    this.#endsAt ??= now() + LONGEST_MS;
    if (now() >= this.#endsAt) return true;
    if (this.#unasked !== undefined && !isAsked(this.#unasked)) return false;
    this.#left ??= new Set(namespaces());
    for (const namespace of this.#left) {
      if (!this.#isDoneIn(namespace)) return false;
      this.#left.delete(namespace);
    }
    this.#endsAt = now();
    return true;
  }

  #isDoneIn(namespace: string): boolean {
    const { podsIn, hasFile, isAsked } = this.#options;
    if (this.#refused.has(namespace)) return true;
    if (!hasFile(namespace)) return false;
    // The last one is asked last.
    const pod = podsIn(namespace).findLast(({ metadata }) => !isAsked(metadata.uid ?? ''));
    this.#unasked = pod?.metadata.uid;
    return pod === undefined;
  }
}

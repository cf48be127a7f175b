import { isDeepStrictEqual } from 'node:util';
import type { NamespaceSettings } from '../../injection/namespace-settings.ts';
import { changedTemplates, selectedNames, type TemplateSet } from '../../injection/template/template-set.ts';
import { classify, type DriftBasis, injectionNow } from '../../injection/webhook/classify.ts';
import { ifFound } from '../../kube/api/api-error.ts';
import { PODS } from '../../kube/api/core-resources.ts';
import { type KubeObject, keyOf, type ObjectKey, refOf } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';

/** A pod that would be different if it were created now. */
export interface Finding {
  readonly kind: 'missed' | 'stale';
  /** The part of its metadata that the cache keeps. */
  readonly pod: KubeObject;
}

export interface DriftOptions {
  readonly client: Pick<KubeClient, 'get'>;
  /** Pods that have not finished, reduced by `podSummary`. */
  readonly pods: Pick<Lister<KubeObject>, 'get' | 'list'>;
  readonly namespaceSettings: (namespace: string) => NamespaceSettings;
  readonly basis: DriftBasis;
  /** The templates of new pods in a canary and outside of it; undefined without valid ones. */
  readonly chosen: () => { readonly sets: readonly (TemplateSet | undefined)[]; readonly canary: unknown };
  /** Called once for each pod that is missed or stale. */
  readonly onFinding: (finding: Finding) => void;
}

const KINDS = ['missed', 'stale'] as const;

/** Finds every pod whose sidecar is missing or comes from another version of the template. */
export class Drift {
  readonly #options: DriftOptions;
  /** After a change of the template, all pods of a cluster are here. */
  readonly #found = { missed: new Map<ObjectKey, KubeObject>(), stale: new Map<ObjectKey, KubeObject>() };
  /** UIDs of pods that a full read showed to need no sidecar. */
  readonly #cleared = new Map<ObjectKey, string>();
  #judgedBy: ReturnType<DriftOptions['chosen']> | undefined;

  constructor(options: DriftOptions) {
    this.#options = options;
  }

  get findings(): readonly Finding[] {
    return KINDS.flatMap((kind) => Array.from(this.#found[kind].values(), (pod) => ({ kind, pod })));
  }

  /** The pod of the key if it is missed. */
  missed(key: ObjectKey): KubeObject | undefined {
    return this.#found.missed.get(key);
  }

  /** The pods that may have got another class, because the templates have changed since the last call. */
  concerned(): readonly KubeObject[] {
    const { pods, basis, chosen, namespaceSettings } = this.#options;
    const [before, after] = [this.#judgedBy, chosen()];
    this.#judgedBy = after;
    const isSame = isDeepStrictEqual(before?.canary, after.canary);
    const changes = after.sets.map((set, i) => (isSame ? changedTemplates(before?.sets[i], set) : undefined));
    return pods.list().filter(({ metadata: { namespace = '', annotations } }) => {
      const names = selectedNames(annotations?.[basis.options.keys.templates], namespaceSettings(namespace));
      return [...names].some((name) => changes.some((changed) => !changed || changed.has(name)));
    });
  }

  /** Forgets the full reads of these pods, because the template or the labels of their namespace have changed. */
  reset(keys: Iterable<ObjectKey>): void {
    for (const key of keys) this.#cleared.delete(key);
  }

  /** Forgets everything at the end of a term: this process misses changes until it leads again. */
  forget(): void {
    for (const kind of KINDS) this.#found[kind].clear();
    this.#cleared.clear();
  }

  /** Classifies the pod of a key. */
  readonly reconcile: Reconcile = async (key, signal) => {
    const pod = this.#options.pods.get(key);
    const kind = pod && !pod.metadata.deletionTimestamp ? await this.#kindOf(pod, signal) : undefined;
    if (!pod) this.#cleared.delete(key);
    const before = kind && this.#found[kind].get(key);
    for (const each of KINDS) if (each !== kind) this.#found[each].delete(key);
    if (pod && kind) {
      this.#found[kind].set(keyOf(pod), pod);
      if (before?.metadata.uid !== pod.metadata.uid) this.#options.onFinding({ kind, pod });
    }
    return {};
  };

  async #kindOf(pod: KubeObject, signal: AbortSignal): Promise<Finding['kind'] | undefined> {
    const { client, basis, namespaceSettings } = this.#options;
    const { namespace = '', uid = '' } = pod.metadata;
    const settings = namespaceSettings(namespace);
    const state = classify(pod, settings, basis);
    if (state === 'stale') return 'stale';
    const key = keyOf(pod);
    if (state !== 'maybe-missed' || this.#cleared.get(key) === uid) return undefined;
    const whole = await ifFound(client.get(PODS, refOf(pod), { signal }));
    if (whole?.metadata.uid === uid && injectionNow(whole, settings, basis).outcome === 'injected')
      return 'missed';
    this.#cleared.set(key, uid);
    return undefined;
  }
}

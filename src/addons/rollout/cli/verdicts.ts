import type { DecideOptions } from '../../../injection/rule.ts';
import type { TemplateSet } from '../../../injection/template/template-set.ts';
import { isNotFound } from '../../../kube/api/api-error.ts';
import { PODS } from '../../../kube/api/core-resources.ts';
import { type KubeObject, splitKey } from '../../../kube/api/object.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { JsonObject } from '../../../util/json.ts';
import { setWith } from '../core/history.ts';
import type { PodVerdict, RolloutPod } from '../core/pod.ts';
import { podChange } from '../pod-change.ts';

export interface VerdictsOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly decide: DecideOptions;
  /** The versions of kubelets, by node. */
  readonly kubelets: ReadonlyMap<string, string>;
  readonly canResize: boolean;
}

/** What the operator finds out about a pod when its turn comes, and what its metadata does not show: whether it can be changed. */
export class Verdicts {
  readonly #options: VerdictsOptions;
  readonly #known = new Map<string, PodVerdict | undefined>();

  constructor(options: VerdictsOptions) {
    this.#options = options;
  }

  /** The verdict about a pod for templates; undefined if it can be changed, or was not judged. */
  of(uid: string, set: TemplateSet): PodVerdict | undefined {
    return this.#known.get(keyOf(uid, set));
  }

  /**
   * Reads and judges those of the pods that were not judged yet. Returns whether there were any. `known`: the templates
   * that pods may have been injected with.
   */
  async judge(
    pods: readonly RolloutPod[],
    set: TemplateSet,
    known: Iterable<TemplateSet>,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const open = pods.filter(({ uid }) => !this.#known.has(keyOf(uid, set)));
    await Promise.all(
      open.map(async (pod) =>
        this.#known.set(keyOf(pod.uid, set), await this.#verdict(pod, set, known, signal)),
      ),
    );
    return open.length > 0;
  }

  async #verdict(
    { key, uid, namespace, node, status, isConfigStale: restart }: RolloutPod,
    set: TemplateSet,
    known: Iterable<TemplateSet>,
    signal: AbortSignal | undefined,
  ): Promise<PodVerdict | undefined> {
    const { client, decide, kubelets, canResize } = this.#options;
    const whole = await client.get(PODS, splitKey(key), { signal }).catch(undefinedIfNotFound);
    if (whole?.metadata.uid !== uid) return undefined;
    const from = status && setWith(status, known);
    const more = { from, restart, kubelet: kubelets.get(node), canResize };
    const change = podChange(whole as KubeObject & JsonObject, namespace, set, decide, more);
    return 'why' in change ? { how: change.how, why: change.why } : undefined;
  }
}

const keyOf = (uid: string, { hash }: TemplateSet): string => `${uid} ${hash}`;

function undefinedIfNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

import type { CanaryScope } from '../../injection/template/strategy.ts';
import type { TemplateState } from '../../injection/template/template-set.ts';
import { ifFound, isInvalid } from '../../kube/api/api-error.ts';
import { NAMESPACES } from '../../kube/api/core-resources.ts';
import type { KubeObject, OwnerReference } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Result } from '../../kube/controller/controller.ts';
import type { Logger } from '../../kube/util/log.ts';
import { isObject, type JsonObject, sameJson } from '../../util/json.ts';
import { type Compiled, type CompileOptions, compilePolicies, type PolicyObject } from './compile.ts';
import { type LivePolicyObject, POLICIES, POLICY_BINDINGS } from './resources.ts';

/** The field manager of our fields. */
const FIELD_MANAGER = 'envoy-initializer-policy';
/** After a rejection: what others have in the cluster may have refused it. */
const RETRY_MS = 60_000;

export interface PolicyControllerOptions {
  readonly client: Pick<KubeClient, 'get' | 'apply' | 'jsonPatch' | 'delete'>;
  /** The policies and bindings with our label. */
  readonly live: {
    readonly policies: Pick<Informer<LivePolicyObject>, 'lister'>;
    readonly bindings: Pick<Informer<LivePolicyObject>, 'lister'>;
  };
  /** The templates of new pods; `canary`: pods that get other ones, and are left to the webhook. */
  readonly templates: () => {
    readonly state: TemplateState;
    readonly canary?: CanaryScope | undefined;
  };
  readonly serverMinor: () => number | undefined;
  /** What policies cannot see of namespaces. */
  readonly unseen: () => Pick<CompileOptions, 'envoyFiles' | 'limitRanges'>;
  readonly compile: CompileOptions;
  /** If false, the controller deletes all policies. */
  readonly enabled: boolean;
  readonly log: Logger;
  /** Takes the number of maintained policies. */
  readonly kept: (policies: number) => void;
}

/**
 * Keeps the policies of the cluster in step with the template. A policy changes in place by one write. An API server thus
 * applies either the old or the new policy to a pod, never neither or both.
 */
export class PolicyController {
  readonly #options: PolicyControllerOptions;
  #reported: Compiled | undefined;
  /** What the API server rejected. A write of a part, and its deletion, must not wake this again at once. */
  #rejected: { readonly objects: string; readonly until: number } | undefined;

  constructor(options: PolicyControllerOptions) {
    this.#options = options;
  }

  async reconcile(signal: AbortSignal): Promise<Result> {
    const wanted = this.#wanted();
    // Without a valid template, the policies of the last one stay, as in the webhook.
    if (!wanted) return {};
    const objects = JSON.stringify(wanted.objects);
    const waitMs = this.#rejected?.objects === objects ? this.#rejected.until - Date.now() : 0;
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    const owner = wanted.objects.length > 0 ? await this.#owner(signal) : undefined;
    // The namespace is being deleted, and new policies would stay behind.
    if (wanted.objects.length > 0 && !owner) return {};
    const refused = owner ? await this.#write(wanted, owner, signal) : [];
    await this.#remove([...this.#unwanted(wanted.objects), ...refused], signal);
    const policies = wanted.objects.filter(({ kind }) => kind === POLICIES.kind);
    this.#options.kept(refused.length > 0 ? 0 : policies.length);
    this.#report(wanted);
    this.#rejected = refused.length > 0 ? { objects, until: Date.now() + RETRY_MS } : undefined;
    return refused.length > 0 ? { requeueAfterMs: RETRY_MS } : {};
  }

  #wanted(): Compiled | undefined {
    const { enabled, templates, serverMinor, unseen, compile } = this.#options;
    if (!enabled) return { objects: [], left: [] };
    const { state, canary } = templates();
    if ('fault' in state) return undefined;
    return compilePolicies(state.set, { ...compile, ...unseen(), canary, serverMinor: serverMinor() });
  }

  /** The operator's Namespace, whose deletion also deletes the policies. Undefined while it is being deleted. */
  async #owner(signal: AbortSignal): Promise<OwnerReference | undefined> {
    const { client, compile } = this.#options;
    const { metadata } = await client.get(NAMESPACES, { name: compile.operatorNamespace }, { signal });
    if (metadata.deletionTimestamp !== undefined) return undefined;
    return { apiVersion: 'v1', kind: 'Namespace', name: metadata.name, uid: metadata.uid ?? '' };
  }

  /** Writes the objects that differ. Returns all of them if the API server rejects one: the webhook then injects the pods. */
  async #write(
    { objects }: Compiled,
    owner: OwnerReference,
    signal: AbortSignal,
  ): Promise<readonly PolicyObject[]> {
    try {
      for (const object of objects) {
        const live = this.#lister(object).get(object.metadata.name);
        if (live && isSpec(live.spec, object.spec) && isOwnedBy(live, owner)) continue;
        await this.#restore(object, owner, signal);
        this.#options.log.info({ kind: object.kind, name: object.metadata.name }, 'policy written');
      }
      return [];
    } catch (err) {
      if (!isInvalid(err)) throw err;
      this.#options.log.error({ err }, 'the API server rejected the policies: only the webhook injects');
      return objects;
    }
  }

  async #restore(object: PolicyObject, owner: OwnerReference, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const [resource, ref] = [resourceOf(object), { name: object.metadata.name }];
    const whole = { ...object, metadata: { ...object.metadata, ownerReferences: [owner] } };
    const write = { fieldManager: FIELD_MANAGER, signal };
    const { spec } = await client.apply(resource, ref, whole, { ...write, force: true });
    if (isSpec(spec, object.spec)) return;
    // Server-side apply keeps what others have added.
    await client.jsonPatch(resource, ref, [{ op: 'replace', path: '/spec', value: object.spec }], write);
  }

  /** Our objects, by label and name, that are not wanted: bindings first. */
  #unwanted(objects: readonly PolicyObject[]): readonly Ref[] {
    const { live, compile } = this.#options;
    const { name } = compile;
    const ours = [name, `namespace.${name}`, `all.${name}`];
    const there = [
      ...live.bindings.lister.list().map(({ metadata }) => ({ kind: POLICY_BINDINGS.kind, metadata })),
      ...live.policies.lister.list().map(({ metadata }) => ({ kind: POLICIES.kind, metadata })),
    ];
    return there
      .filter(({ metadata }) => ours.includes(metadata.name))
      .filter((ref) => !objects.some((object) => isSame(object, ref)));
  }

  async #remove(refs: readonly Ref[], signal: AbortSignal): Promise<void> {
    for (const ref of refs) {
      const { name } = ref.metadata;
      await ifFound(this.#options.client.delete(resourceOf(ref), { name }, { signal }));
      this.#options.log.info({ kind: ref.kind, name }, 'policy deleted');
    }
  }

  #lister(ref: Ref) {
    const { policies, bindings } = this.#options.live;
    return (ref.kind === POLICIES.kind ? policies : bindings).lister;
  }

  #report(wanted: Compiled): void {
    if (wanted.left.join() === this.#reported?.left.join()) return;
    this.#reported = wanted;
    if (wanted.left.length > 0)
      this.#options.log.info({ left: wanted.left }, 'policies leave pods to the webhook');
  }
}

interface Ref {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

function isSame(a: Ref, b: Ref): boolean {
  return a.kind === b.kind && a.metadata.name === b.metadata.name;
}

function resourceOf({ kind }: Ref): Resource<LivePolicyObject> {
  return kind === POLICIES.kind ? POLICIES : POLICY_BINDINGS;
}

function isOwnedBy({ metadata }: KubeObject, { uid }: OwnerReference): boolean {
  return (metadata.ownerReferences ?? []).some((owner) => owner.uid === uid);
}

/** Defaults of the API server (k8s.io/kubernetes/pkg/apis/admissionregistration/v1/defaults.go). */
const MATCH_DEFAULTS: JsonObject = {
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
};

/** Whether a spec from the API server equals the one that we wrote. */
export function isSpec(live: JsonObject, written: JsonObject): boolean {
  return sameJson(withDefaults(live), withDefaults(written));
}

function withDefaults(spec: JsonObject): JsonObject {
  const matches = ['matchConstraints', 'matchResources'].flatMap((field) => {
    const match = spec[field];
    return isObject(match) ? [[field, { ...MATCH_DEFAULTS, ...match }]] : [];
  });
  return { ...spec, ...Object.fromEntries(matches) };
}

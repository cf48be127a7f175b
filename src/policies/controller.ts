import { isObject } from '../json/json.ts';
import { isInvalid, isNotFound } from '../kube/api/api-error.ts';
import { NAMESPACES } from '../kube/api/core-resources.ts';
import type { KubeObject, OwnerReference } from '../kube/api/object.ts';
import type { Resource } from '../kube/api/resource.ts';
import type { Informer } from '../kube/cache/informer.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Logger } from '../kube/util/log.ts';
import type { TemplateState } from '../sidecar/template/template-set.ts';
import { type Compiled, type CompileOptions, compilePolicies, type PolicyObject } from './compile.ts';
import { isSpec } from './live-spec.ts';
import { type LivePolicyObject, POLICIES, POLICY_BINDINGS } from './resources.ts';

/** Under which the server records what is ours. */
const FIELD_MANAGER = 'envoy-initializer-policy';

export interface PolicyControllerOptions {
  readonly client: Pick<KubeClient, 'get' | 'apply' | 'jsonPatch' | 'delete'>;
  /** What there is of policies and bindings with our label. */
  readonly live: {
    readonly policies: Pick<Informer<LivePolicyObject>, 'lister'>;
    readonly bindings: Pick<Informer<LivePolicyObject>, 'lister'>;
  };
  readonly templates: () => TemplateState;
  readonly compile: CompileOptions;
  /** False: there are to be none. */
  readonly enabled: boolean;
  readonly log: Logger;
  readonly metrics: PolicyMetrics;
}

/** What is seen of the policies from outside. */
export interface PolicyMetrics {
  /** How many are kept: none where there are to be none, or another process leads, or the API server knows none. */
  kept(policies: number): void;
}

/**
 * Keeps the policies of the cluster those of the template. A policy is changed in its place, by one write: an API server
 * has either the old one in effect or the new one, so that no pod meets neither or both.
 */
export class PolicyController {
  readonly #options: PolicyControllerOptions;
  #reported: Compiled | undefined;

  constructor(options: PolicyControllerOptions) {
    this.#options = options;
  }

  async reconcile(signal: AbortSignal): Promise<void> {
    const wanted = this.#wanted();
    // Those of the last good template stay, as they do in the webhook.
    if (!wanted) return;
    const owner = wanted.objects.length > 0 ? await this.#owner(signal) : undefined;
    // All of it is about to go, and what was made now would be left behind.
    if (wanted.objects.length > 0 && !owner) return;
    const refused = owner ? await this.#write(wanted, owner, signal) : [];
    await this.#remove([...this.#unwanted(wanted.objects), ...refused], signal);
    const policies = wanted.objects.filter(({ kind }) => kind === POLICIES.kind);
    this.#options.metrics.kept(refused.length > 0 ? 0 : policies.length);
    this.#report(wanted);
  }

  #wanted(): Compiled | undefined {
    const { enabled, templates, compile } = this.#options;
    if (!enabled) return { objects: [], left: [] };
    const state = templates();
    return 'set' in state ? compilePolicies(state.set, compile) : undefined;
  }

  /** The operator's Namespace: deleting it takes along what is cluster-scoped. Undefined while it is being deleted. */
  async #owner(signal: AbortSignal): Promise<OwnerReference | undefined> {
    const { client, compile } = this.#options;
    const { metadata } = await client.get(NAMESPACES, { name: compile.operatorNamespace }, { signal });
    if (metadata.deletionTimestamp !== undefined) return undefined;
    return { apiVersion: 'v1', kind: 'Namespace', name: metadata.name, uid: metadata.uid ?? '' };
  }

  /** Writes what is not as it should be. The API server's refusal of one is ours to see, and its pods the webhook's. */
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
      this.#options.log.error({ err }, 'the API server refuses the policy: the webhook does without');
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
    // Server-side apply leaves what somebody else has added.
    await client.jsonPatch(resource, ref, [{ op: 'replace', path: '/spec', value: object.spec }], write);
  }

  /** Ours by label and name, and not to be there: bindings first. */
  #unwanted(objects: readonly PolicyObject[]): readonly Ref[] {
    const { live, compile } = this.#options;
    const { name } = compile;
    const ours = [name, `namespace.${name}`, `all.${name}`];
    const there = [
      ...live.bindings.lister.list().map((object) => ({ kind: POLICY_BINDINGS.kind, object })),
      ...live.policies.lister.list().map((object) => ({ kind: POLICIES.kind, object })),
    ];
    return there
      .map(({ kind, object: { metadata } }) => ({ kind, metadata }))
      .filter(({ metadata }) => ours.includes(metadata.name))
      .filter((ref) => !objects.some((object) => isSame(object, ref)));
  }

  async #remove(refs: readonly Ref[], signal: AbortSignal): Promise<void> {
    for (const ref of refs) {
      try {
        await this.#options.client.delete(resourceOf(ref), { name: ref.metadata.name }, { signal });
        this.#options.log.info({ kind: ref.kind, name: ref.metadata.name }, 'policy removed');
      } catch (err) {
        if (!isNotFound(err)) throw err;
      }
    }
  }

  #lister(ref: Ref) {
    const { policies, bindings } = this.#options.live;
    return (ref.kind === POLICIES.kind ? policies : bindings).lister;
  }

  #report(wanted: Compiled): void {
    if (wanted.left.join() === this.#reported?.left.join()) return;
    this.#reported = wanted;
    if (wanted.left.length > 0) this.#options.log.info({ left: wanted.left }, 'left to the webhook');
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

/** Whether the API server knows MutatingAdmissionPolicies, by its list of the group's resources. */
export function knowsPolicies(discovery: unknown): boolean {
  if (!isObject(discovery) || !Array.isArray(discovery.resources)) return false;
  return discovery.resources.some((resource) => isObject(resource) && resource.name === POLICIES.plural);
}

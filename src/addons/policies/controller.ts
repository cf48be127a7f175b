import { ifFound, isInvalid } from '../../kube/api/api-error.ts';
import { NAMESPACES } from '../../kube/api/core-resources.ts';
import type { OwnerReference } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { Result } from '../../kube/controller/controller.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Core } from '../../operator/core.ts';
import { isObject, type JsonObject, sameJson } from '../../util/json.ts';
import { type Compiled, compilePolicies, type PolicyObject } from './compile.ts';
import { type LivePolicyObject, POLICIES, POLICY_BINDINGS } from './resources.ts';

/** The field manager of our fields. */
const FIELD_MANAGER = 'envoy-initializer-policy';
/** After a rejection: what others have in the cluster may have refused it. */
const RETRY_MS = 60_000;

/** The flags of `serve` that policies look at. */
export interface PolicyOptions {
  readonly initializerName: string;
  /** `off`: the controller deletes all policies. */
  readonly policy: 'auto' | 'off';
}

/** What policies are made of. */
export type PolicyCore = Pick<Core, 'newPods' | 'serverMinor' | 'namespaces' | 'decideOptions'>;

/** The policies and bindings with our label. */
interface LivePolicies {
  readonly policies: Pick<Informer<LivePolicyObject>, 'lister'>;
  readonly bindings: Pick<Informer<LivePolicyObject>, 'lister'>;
}

/**
 * Keeps the policies of the cluster in step with the template. A policy changes in place by one write. An API server thus
 * applies either the old or the new policy to a pod, never neither or both. `kept` takes the number of maintained policies.
 */
export function policyReconcile(
  { leaderClient: client, log }: Pick<Manager, 'leaderClient' | 'log'>,
  { newPods, serverMinor, namespaces, decideOptions }: PolicyCore,
  { initializerName: name, policy }: PolicyOptions,
  live: LivePolicies,
  kept: (policies: number) => void,
): (signal: AbortSignal) => Promise<Result> {
  let reported = '';
  /** What the API server rejected. A write of a part, and its deletion, must not wake this again at once. */
  let rejected: { readonly objects: string; readonly until: number } | undefined;

  function compiled(): Compiled | undefined {
    if (policy === 'off') return { objects: [], left: [] };
    const { state, canary } = newPods.forPolicies();
    if ('fault' in state) return undefined;
    return compilePolicies(state.set, {
      ...{ ...decideOptions, ...namespaces.unseen(), name, canary },
      serverMinor: serverMinor.current(),
      // The webhook runs too, and rejects pods if it must.
      alone: false,
    });
  }

  /** The operator's Namespace, whose deletion also deletes the policies. Undefined while it is being deleted. */
  async function ownerOf(signal: AbortSignal): Promise<OwnerReference | undefined> {
    const { metadata } = await client.get(NAMESPACES, { name: decideOptions.operatorNamespace }, { signal });
    if (metadata.deletionTimestamp !== undefined) return undefined;
    return { apiVersion: 'v1', kind: 'Namespace', name: metadata.name, uid: metadata.uid ?? '' };
  }

  /** Writes the objects that differ. Returns all of them if the API server rejects one: the webhook then injects the pods. */
  async function write(
    { objects }: Compiled,
    owner: OwnerReference,
    signal: AbortSignal,
  ): Promise<readonly PolicyObject[]> {
    try {
      for (const object of objects) {
        const { lister } = object.kind === POLICIES.kind ? live.policies : live.bindings;
        const found = lister.get(object.metadata.name);
        const isOwned = found?.metadata.ownerReferences?.some(({ uid }) => uid === owner.uid);
        if (found && isSpec(found.spec, object.spec) && isOwned) continue;
        await restore(object, owner, signal);
        log.info({ kind: object.kind, name: object.metadata.name }, 'policy written');
      }
      return [];
    } catch (err) {
      if (!isInvalid(err)) throw err;
      log.error({ err }, 'the API server rejected the policies: only the webhook injects');
      return objects;
    }
  }

  async function restore(object: PolicyObject, owner: OwnerReference, signal: AbortSignal): Promise<void> {
    const [resource, ref] = [resourceOf(object), { name: object.metadata.name }];
    const whole = { ...object, metadata: { ...object.metadata, ownerReferences: [owner] } };
    const how = { fieldManager: FIELD_MANAGER, signal };
    const { spec } = await client.apply(resource, ref, whole, { ...how, force: true });
    if (isSpec(spec, object.spec)) return;
    // Server-side apply keeps what others have added.
    await client.jsonPatch(resource, ref, [{ op: 'replace', path: '/spec', value: object.spec }], how);
  }

  /** Our objects, by label and name, that are not wanted: bindings first. */
  function unwanted(objects: readonly PolicyObject[]): readonly Ref[] {
    const ours = [name, `namespace.${name}`, `all.${name}`];
    const there = [
      ...live.bindings.lister.list().map(({ metadata }) => ({ kind: POLICY_BINDINGS.kind, metadata })),
      ...live.policies.lister.list().map(({ metadata }) => ({ kind: POLICIES.kind, metadata })),
    ];
    return there
      .filter(({ metadata }) => ours.includes(metadata.name))
      .filter(
        (ref) =>
          !objects.some((object) => object.kind === ref.kind && object.metadata.name === ref.metadata.name),
      );
  }

  return async (signal) => {
    const wanted = compiled();
    // Without a valid template, the policies of the last one stay, as in the webhook.
    if (!wanted) return {};
    const objects = JSON.stringify(wanted.objects);
    const waitMs = rejected?.objects === objects ? rejected.until - Date.now() : 0;
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    const owner = wanted.objects.length > 0 ? await ownerOf(signal) : undefined;
    // The namespace is being deleted, and new policies would stay behind.
    if (wanted.objects.length > 0 && !owner) return {};
    const refused = owner ? await write(wanted, owner, signal) : [];
    for (const object of [...unwanted(wanted.objects), ...refused]) {
      const ref = { name: object.metadata.name };
      await ifFound(client.delete(resourceOf(object), ref, { signal }));
      log.info({ kind: object.kind, ...ref }, 'policy deleted');
    }
    const policies = wanted.objects.filter(({ kind }) => kind === POLICIES.kind);
    kept(refused.length > 0 ? 0 : policies.length);
    const { left } = wanted;
    if (left.length > 0 && left.join() !== reported) log.info({ left }, 'policies leave pods to the webhook');
    reported = left.join();
    rejected = refused.length > 0 ? { objects, until: Date.now() + RETRY_MS } : undefined;
    return refused.length > 0 ? { requeueAfterMs: RETRY_MS } : {};
  };
}

interface Ref {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

function resourceOf({ kind }: Ref): Resource<LivePolicyObject> {
  return kind === POLICIES.kind ? POLICIES : POLICY_BINDINGS;
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

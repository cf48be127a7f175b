import type { Status } from '../../injection/status.ts';
import type { TemplateSet, TemplateState } from '../../injection/template/template-set.ts';
import type { TemplateDryRun } from '../../injection/webhook/template-dry-run.ts';
import type { ConfigMap } from '../../kube/api/core-resources.ts';
import type { Lister } from '../../kube/cache/store.ts';
import { type ControllerRevision, readRevision, revisionName } from './controller-revision.ts';
import { type Revision, type Revisions, revisionsOf, type StoredRevision } from './plan/revision.ts';

/** The annotation of the template's ConfigMap that pauses a rollout with the value `true`. */
export const PAUSED_KEY = 'initializer.kubernetes.io/rollout-paused';
/** The flags of `serve` that a rollout looks at. */
export interface RolloutOptions {
  readonly namespace: string;
  readonly configmap: string;
}

/** For an operator that may not roll out. */
export const FORBIDDEN_ADVICE = 'add the component "rollout" (docs/install.md)';

/** The templates of the ConfigMap and their ControllerRevisions, as the caches have them. */
export function revisionHistory(
  { namespace, configmap }: RolloutOptions,
  templates: { readonly state: TemplateState },
  configMaps: Lister<ConfigMap>,
  objects: Lister<ControllerRevision>,
) {
  const read = new Map<string, { readonly version: string; readonly revision: StoredRevision | undefined }>();
  let memo: { readonly set: TemplateSet; readonly revisions: Revisions | undefined } | undefined;

  const source = () => configMaps.get(`${namespace}/${configmap}`);
  const adopted = () => ('set' in templates.state ? templates.state.set : undefined);

  function stored(): readonly StoredRevision[] {
    return objects.list().flatMap((object) => {
      const { name, resourceVersion: version = '' } = object.metadata;
      if (!name.startsWith(`${configmap}-`)) return [];
      const known = read.get(name);
      if (known?.version === version) return known.revision ?? [];
      const revision = readRevision(object);
      read.set(name, { version, revision });
      return revision ?? [];
    });
  }

  return {
    source,
    adopted,
    stored,

    /** What the rollout goes from and to; undefined without a strategy, and until the first revision is written. */
    current(): Revisions | undefined {
      const set = adopted();
      if (set?.rollout === undefined) return undefined;
      if (memo?.set === set) return memo.revisions;
      const paused = source()?.metadata.annotations?.[PAUSED_KEY] === 'true';
      memo = { set, revisions: revisionsOf(set, stored(), paused) };
      return memo.revisions;
    },

    /** Call it when a cache has changed. */
    changed(): void {
      memo = undefined;
    },

    /** The known templates that a pod has by its status; undefined if none has them. */
    find({ templates: applied }: Status): TemplateSet | undefined {
      const sets = [adopted(), ...stored().map(({ set }) => set)];
      return sets.find((set) =>
        applied.every(({ name, sha256 }) => set?.templates.get(name)?.hash === sha256),
      );
    },

    objectOf: (hash: string) => objects.get(`${namespace}/${revisionName(configmap, hash)}`),
    nextNumber: () => Math.max(0, ...objects.list().map(({ revision = 0 }) => revision)) + 1,
  };
}
export type RevisionHistory = ReturnType<typeof revisionHistory>;

const PROOF_MS = 10_000;

/**
 * Proves the promoted templates while a rollout to others runs, on every replica: each must know which pods the API
 * server would refuse with them. `onProved`: `setOf` has another answer now.
 */
export function promotedProofs(
  history: Pick<RevisionHistory, 'current'>,
  dryRun: Pick<TemplateDryRun, 'prove'>,
  onProved: () => void,
) {
  let proved: TemplateSet | undefined;
  /** Whether the API server has judged all of them. */
  let isSure = false;
  /** How often the API server has become another one. */
  let servers = 0;
  return {
    /** The templates of a revision, with what the API server says about them if it was asked. */
    setOf: ({ set }: Revision): TemplateSet => (proved?.hash === set.hash ? proved : set),

    /** Proves them again: another version of the API server may see them otherwise. */
    again(): void {
      isSure = false;
      servers += 1;
    },

    /** Proves them if they are not proved yet; call it often. Rejects if they could not be proved. */
    async prove(signal: AbortSignal): Promise<void> {
      const revisions = history.current();
      if (!revisions || revisions.promoted === revisions.target) return;
      const { set } = revisions.promoted;
      const isKnown = proved?.hash === set.hash;
      if (isKnown && isSure) return;
      const server = servers;
      const { set: judged, inconclusive } = await dryRun.prove(set, PROOF_MS, signal);
      if (server !== servers) return;
      isSure = inconclusive.length === 0;
      if (isSure || !isKnown) {
        proved = judged;
        onProved();
      }
      if (!isSure) throw new Error(inconclusive.join('; '));
    },
  };
}

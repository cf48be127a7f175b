import type { Status } from '../../injection/status.ts';
import type { TemplateSet, TemplateState } from '../../injection/template/template-set.ts';
import type { TemplateDryRun } from '../../injection/webhook/template-dry-run.ts';
import type { ConfigMap } from '../../kube/api/core-resources.ts';
import type { Lister } from '../../kube/cache/store.ts';
import { type ControllerRevision, readRevision, revisionName } from './controller-revision.ts';
import { type Revision, type Revisions, revisionsOf, type StoredRevision } from './plan/revision.ts';

/** The annotation of the template's ConfigMap that pauses a rollout with the value `true`. */
export const PAUSED_KEY = 'initializer.kubernetes.io/rollout-paused';
/** For an operator that may not roll out. */
export const FORBIDDEN_ADVICE = 'add the component "rollout" (docs/install.md)';

export interface RevisionHistoryOptions {
  readonly namespace: string;
  readonly configmap: string;
  readonly objects: Pick<Lister<ControllerRevision>, 'get' | 'list'>;
  readonly configMaps: Pick<Lister<ConfigMap>, 'get'>;
  readonly templates: { readonly state: TemplateState };
}

/** The templates of the ConfigMap and their ControllerRevisions, as the caches have them. */
export class RevisionHistory {
  readonly #options: RevisionHistoryOptions;
  readonly #read = new Map<
    string,
    { readonly version: string; readonly revision: StoredRevision | undefined }
  >();
  #memo: { readonly set: TemplateSet; readonly revisions: Revisions | undefined } | undefined;

  constructor(options: RevisionHistoryOptions) {
    this.#options = options;
  }

  get state(): TemplateState {
    return this.#options.templates.state;
  }

  source(): ConfigMap | undefined {
    const { namespace, configmap, configMaps } = this.#options;
    return configMaps.get(`${namespace}/${configmap}`);
  }

  adopted(): TemplateSet | undefined {
    return 'set' in this.state ? this.state.set : undefined;
  }

  /** What the rollout goes from and to; undefined without a strategy, and until the first revision is written. */
  current(): Revisions | undefined {
    const set = this.adopted();
    if (set?.rollout === undefined) return undefined;
    if (this.#memo?.set === set) return this.#memo.revisions;
    const paused = this.source()?.metadata.annotations?.[PAUSED_KEY] === 'true';
    this.#memo = { set, revisions: revisionsOf(set, this.stored(), paused) };
    return this.#memo.revisions;
  }

  /** Call it when a cache has changed. */
  changed(): void {
    this.#memo = undefined;
  }

  stored(): readonly StoredRevision[] {
    const prefix = `${this.#options.configmap}-`;
    return this.#options.objects.list().flatMap((object) => {
      const { name, resourceVersion: version = '' } = object.metadata;
      if (!name.startsWith(prefix)) return [];
      const known = this.#read.get(name);
      if (known?.version === version) return known.revision ?? [];
      const revision = readRevision(object);
      this.#read.set(name, { version, revision });
      return revision ?? [];
    });
  }

  /** The known templates that a pod has by its status; undefined if none has them. */
  find({ templates }: Status): TemplateSet | undefined {
    const sets = [this.adopted(), ...this.stored().map(({ set }) => set)];
    return sets.find((set) =>
      templates.every(({ name, sha256 }) => set?.templates.get(name)?.hash === sha256),
    );
  }

  objectOf(hash: string): ControllerRevision | undefined {
    const { namespace, configmap, objects } = this.#options;
    return objects.get(`${namespace}/${revisionName(configmap, hash)}`);
  }

  nextNumber(): number {
    return Math.max(0, ...this.#options.objects.list().map(({ revision = 0 }) => revision)) + 1;
  }
}

export interface PromotedProofsOptions {
  readonly history: Pick<RevisionHistory, 'current'>;
  /** Asks the API server which pods it would refuse with templates. */
  readonly dryRun: Pick<TemplateDryRun, 'prove'>;
  /** The templates are proved: `setOf` has another answer now. */
  onProved(): void;
}

const PROOF_MS = 10_000;

/**
 * Proves the promoted templates while a rollout to others runs, on every replica: each must know which pods the API
 * server would refuse with them.
 */
export class PromotedProofs {
  readonly #options: PromotedProofsOptions;
  #proved: TemplateSet | undefined;
  /** Whether the API server has judged all of them. */
  #isSure = false;
  /** How often the API server has become another one. */
  #servers = 0;

  constructor(options: PromotedProofsOptions) {
    this.#options = options;
  }

  /** The templates of a revision, with what the API server says about them if it was asked. */
  setOf({ set }: Revision): TemplateSet {
    return this.#proved?.hash === set.hash ? this.#proved : set;
  }

  /** Proves them again: another version of the API server may see them otherwise. */
  again(): void {
    this.#isSure = false;
    this.#servers += 1;
  }

  /** Proves them if they are not proved yet; call it often. Rejects if they could not be proved. */
  async prove(signal: AbortSignal): Promise<void> {
    const { history, dryRun, onProved } = this.#options;
    const revisions = history.current();
    if (!revisions || revisions.promoted === revisions.target) return;
    const { set } = revisions.promoted;
    const isKnown = this.#proved?.hash === set.hash;
    if (isKnown && this.#isSure) return;
    const server = this.#servers;
    const { set: judged, inconclusive } = await dryRun.prove(set, PROOF_MS, signal);
    if (server !== this.#servers) return;
    this.#isSure = inconclusive.length === 0;
    if (this.#isSure || !isKnown) {
      this.#proved = judged;
      onProved();
    }
    if (!this.#isSure) throw new Error(inconclusive.join('; '));
  }
}

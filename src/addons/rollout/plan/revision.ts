import type { CanaryScope } from '../../../injection/template/strategy.ts';
import type { TemplateSet } from '../../../injection/template/template-set.ts';

/**
 * `new`: it has no ControllerRevision yet, and no pod gets it. `canary`: only new pods of the canary get it.
 * `promoted`: all new pods get it. `halted`: the breaker has stopped it, and no pod gets it any more.
 */
export type RevisionState = 'new' | 'canary' | 'promoted' | 'halted';

/** One state of the templates, as a ControllerRevision keeps it. */
export interface Revision {
  readonly set: TemplateSet;
  readonly state: RevisionState;
  /** The pods that get it first. It does not change while the rollout runs. */
  readonly canary: CanaryScope;
  /** When the rollout to it began, in milliseconds since 1970. */
  readonly since: number;
  /** When the canary had proved it, in milliseconds since 1970; undefined before that. */
  readonly heldSince: number | undefined;
}

/** What a rollout goes from and to. */
export interface Revisions {
  /** The templates of the ConfigMap. */
  readonly target: Revision;
  /** The last promoted templates; the target itself once it is promoted. */
  readonly promoted: Revision;
  /** Whether a user has paused the rollout by annotation. */
  readonly paused: boolean;
}

/** What to write into the ControllerRevision of the target. */
export type Decision =
  /** Begin the rollout with this canary, or go on with a wider one. */
  | { readonly do: 'begin'; readonly canary: CanaryScope }
  /** The canary has proved it: note the time. */
  | { readonly do: 'hold' }
  | { readonly do: 'promote' }
  | { readonly do: 'halt' };

/** A ControllerRevision with one state of the templates. */
export interface StoredRevision extends Omit<Revision, 'state'> {
  readonly name: string;
  /** `superseded`: another template came before it was promoted, or after it was halted. */
  readonly state: 'canary' | 'promoted' | 'halted' | 'superseded';
}

/** Revisions that are kept, apart from those that pods name. */
const KEPT = 10;
export const NO_CANARY: CanaryScope = { namespaces: undefined, percent: 0 };

/** What the rollout goes from and to; undefined until the first revision is promoted. */
export function revisionsOf(
  adopted: TemplateSet,
  stored: readonly StoredRevision[],
  paused: boolean,
): Revisions | undefined {
  const known = stored.find(({ set }) => set.hash === adopted.hash);
  // The first templates have nothing to go back to.
  const last = lastPromoted(stored) ?? (known?.state === 'halted' ? known : undefined);
  if (last === undefined) return undefined;
  const target: Revision =
    known === undefined || known.state === 'superseded' || (known.state === 'promoted' && known !== last)
      ? { set: adopted, state: 'new', canary: NO_CANARY, since: 0, heldSince: undefined }
      : { ...known, state: known.state, set: adopted };
  return { target, promoted: known === last ? target : { ...last, state: 'promoted' }, paused };
}

/** The revision that was promoted last. */
export function lastPromoted(stored: readonly StoredRevision[]): StoredRevision | undefined {
  return stored
    .filter(({ state }) => state === 'promoted')
    .reduce<StoredRevision | undefined>((a, b) => (a && a.since >= b.since ? a : b), undefined);
}

/** What to write so that the history fits the templates of the ConfigMap. */
export type Upkeep =
  /** The adopted templates need no canary: they are the first, proven before, or rollouts are off. */
  { readonly do: 'promote' } | { readonly do: 'supersede' | 'delete'; readonly name: string };

/**
 * The writes that the history needs. `isUsed`: whether a live pod has the templates of a set.
 */
export function upkeepOf(
  adopted: TemplateSet,
  stored: readonly StoredRevision[],
  isActive: boolean,
  isUsed: (set: TemplateSet) => boolean,
): readonly Upkeep[] {
  if (stored.length === 0) return isActive ? [{ do: 'promote' }] : [];
  const last = lastPromoted(stored);
  const known = stored.find(({ set }) => set.hash === adopted.hash);
  // Without a promoted one, such as after it was deleted, there is nothing to hold these back with: all new pods get them.
  const isProven = known?.state === 'promoted' || (last === undefined && known?.state !== 'halted');
  const writes: Upkeep[] = [];
  if (known !== last || known === undefined) {
    if (isProven || !isActive) writes.push({ do: 'promote' });
  }
  for (const { name, state } of stored) {
    if (name !== known?.name && (state === 'canary' || state === 'halted'))
      writes.push({ do: 'supersede', name });
  }
  const old = stored
    .filter((revision) => revision !== known && revision !== last)
    .toSorted((a, b) => b.since - a.since)
    .slice(KEPT - 2)
    .filter(({ set }) => !isUsed(set));
  return [...writes, ...old.map(({ name }) => ({ do: 'delete' as const, name }))];
}

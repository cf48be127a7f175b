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

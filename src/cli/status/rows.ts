import type { Read, StatusFacts } from './facts.ts';

/** One line of `status`. */
export interface StatusRow {
  readonly check: string;
  /** `none`: the feature is not in use. `note`: good to know. `unknown`: the user may not read it. */
  readonly state: 'ok' | 'problem' | 'none' | 'note' | 'unknown';
  readonly detail: string;
  /** What to do about a problem. */
  readonly advice?: string;
}

/** A row without its name. */
export type CheckResult = Omit<StatusRow, 'check'>;

export const ok = (detail: string): CheckResult => ({ state: 'ok', detail });
export const none = (detail: string): CheckResult => ({ state: 'none', detail });
export const note = (detail: string): CheckResult => ({ state: 'note', detail });
export const problem = (detail: string, advice: string): CheckResult => ({
  state: 'problem',
  detail,
  advice,
});
export const unknown = (detail: string): CheckResult => ({ state: 'unknown', detail });

/** The verdict about what was read. */
export function about<T>(read: Read<T>, judge: (value: T) => CheckResult): CheckResult {
  return 'unreadable' in read ? unknown(read.unreadable) : judge(read.value);
}

const MAX_NAMES = 3;

/** The first names, and the number of the others. */
export function firstOf(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return `${names.slice(0, MAX_NAMES).join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

/** The text of a flag of the operator; undefined if it is not set, or the Deployment is not readable. */
export function flag({ installation }: Pick<StatusFacts, 'installation'>, name: string): string | undefined {
  return 'value' in installation ? installation.value?.flagText(name) : undefined;
}

/** The strategy of the live template for running pods; undefined without one. */
export function rolloutOf({ template }: StatusFacts) {
  return 'value' in template ? template.value?.set?.rollout : undefined;
}

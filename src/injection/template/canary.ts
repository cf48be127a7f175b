import type { CanaryScope } from './strategy.ts';

/** A bound that is greater than every UID. */
const ALL = 'g';

/**
 * The bound of a share of all workloads: those whose UID sorts before it. UIDs are random (version 4), so that their
 * first digits spread them evenly. Comparing text, it means the same in TypeScript and in CEL.
 */
export function uidBound(percent: number): string {
  if (percent >= 100) return ALL;
  if (percent <= 0) return '';
  return Math.ceil((percent / 100) * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
}

/** The smallest whole percentage whose bound is above this UID. */
export function percentFor(uid: string): number {
  const part = Number.parseInt(uid.slice(0, 8), 16);
  if (Number.isNaN(part)) return 100;
  const percent = Math.min(100, Math.floor((part / 2 ** 32) * 100) + 1);
  return uid < uidBound(percent) ? percent : Math.min(100, percent + 1);
}

/** Whether a pod belongs to the canary, by the labels of its namespace and the UID of its controller. */
export function isCanary(
  { namespaces, percent }: CanaryScope,
  namespaceLabels: Readonly<Record<string, string>>,
  controllerUid: string | undefined,
): boolean {
  if (controllerUid !== undefined && controllerUid < uidBound(percent)) return true;
  return (
    namespaces !== undefined &&
    Object.entries(namespaces).every(
      ([key, value]) => Object.hasOwn(namespaceLabels, key) && namespaceLabels[key] === value,
    )
  );
}

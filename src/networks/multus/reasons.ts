/** Condition reasons of Multus Networks that are not Ready. */
export const MULTUS_REASONS = ['NameConflict', 'NamespaceTerminating', 'Terminating'] as const;

export type MultusReason = (typeof MULTUS_REASONS)[number];

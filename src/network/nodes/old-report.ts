import type { ObjectKey } from '../../kube/api/object.ts';

/** The report of a node agent of the previous release. */
export interface OldNodeReport {
  /** The number of the slice whose addresses the node gives out; absent if it has none yet. */
  readonly number?: number;
  /** The digest of the table that the agent uses; empty if it has none yet. */
  readonly table: string;
  /** The Networks that pods on the node can attach to, and the digest of each configuration. */
  readonly networks: Readonly<Record<ObjectKey, string>>;
  /** Why it has not joined more Networks, in one sentence without a full stop. */
  readonly problem?: string;
}

/** Reads a report; undefined if the text is not a valid one. */
export function parseOldReport(text: string | undefined): OldNodeReport | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isReport(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isReport(value: unknown): value is OldNodeReport {
  if (typeof value !== 'object' || value === null) return false;
  if (!('table' in value && 'networks' in value)) return false;
  const { table, networks } = value;
  const number = 'number' in value ? value.number : undefined;
  const problem = 'problem' in value ? value.problem : undefined;
  return (
    typeof table === 'string' &&
    typeof networks === 'object' &&
    networks !== null &&
    Object.values(networks).every((digest) => typeof digest === 'string') &&
    (number === undefined || (typeof number === 'number' && Number.isSafeInteger(number) && number >= 1)) &&
    (problem === undefined || typeof problem === 'string')
  );
}

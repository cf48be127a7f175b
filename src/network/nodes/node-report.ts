import type { ObjectKey } from '../../kube/api/object.ts';

/** What a node agent says of its node. */
export interface NodeReport {
  /** The number in the table by which it gives out addresses; absent where it has none yet. */
  readonly number?: number;
  /** The digest of the table that it goes by; empty where it has none yet. */
  readonly table: string;
  /** The Networks that pods of the node can attach to, and the digest of the configuration of each. */
  readonly networks: Readonly<Record<ObjectKey, string>>;
  /** What keeps it from more, in one sentence without a full stop. */
  readonly problem?: string;
}

/** The key of a report's ConfigMap under which it is, as JSON. */
export const REPORT_KEY = 'report';

/** Reads a report; undefined for what is none. */
export function parseReport(text: string | undefined): NodeReport | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isReport(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isReport(value: unknown): value is NodeReport {
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

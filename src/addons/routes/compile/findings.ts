import { formatPath, type Path } from '../../../util/diagnostic.ts';

/** The reasons for which part of a route is invalid, by the condition that says so. */
export const FAULT_REASONS = {
  UnsupportedValue: 'Accepted',
  IncompatibleFilters: 'Accepted',
  BackendNotFound: 'ResolvedRefs',
  InvalidKind: 'ResolvedRefs',
  RefNotPermitted: 'ResolvedRefs',
  UnsupportedProtocol: 'ResolvedRefs',
  /** What was written has no effect, and the rest goes on: no condition is false for that. */
  FieldIgnored: 'none',
} as const;

export type FaultReason = keyof typeof FAULT_REASONS;

/** What is wrong with part of a route. */
export interface RouteFault {
  readonly reason: FaultReason;
  /** Such as `rules[0].filters[1]`. */
  readonly path: string;
  readonly message: string;
}

/** Collects what is wrong. */
export class Findings {
  readonly faults: RouteFault[] = [];

  /** Adds a fault, and returns undefined: the part does not exist. */
  add(reason: FaultReason, path: Path, message: string): undefined {
    this.faults.push({ reason, path: formatPath(path), message });
  }

  /**
   * Finds fields that this program does not know, as a later version of the CRD may have them. To ignore one of these
   * could send traffic where the author forbids it, so the part that has it is refused.
   */
  unknownFields(object: object, path: Path, known: readonly string[]): boolean {
    const unknown = Object.keys(object).filter((key) => !known.includes(key));
    for (const key of unknown) this.add('UnsupportedValue', [...path, key], 'is not supported: remove it');
    return unknown.length > 0;
  }

  /** The same for fields without which the rest may go on: `effect` says how. */
  ignoredFields(
    object: object,
    path: Path,
    known: readonly string[],
    effect = 'the rule works as without it',
  ): boolean {
    const unknown = Object.keys(object).filter((key) => !known.includes(key));
    for (const key of unknown) this.add('FieldIgnored', [...path, key], `is not supported: ${effect}`);
    return unknown.length > 0;
  }
}

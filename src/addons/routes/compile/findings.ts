import { type Diagnostic, formatPath, type Path } from '../../../util/diagnostic.ts';

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
  /** GRPCRoutes have some of its ports. */
  Conflicted: 'none',
} as const;

export type FaultReason = keyof typeof FAULT_REASONS;

/** What is wrong with part of a route: the path is such as `rules[0].filters[1]`. */
export type RouteFault = Required<Omit<Diagnostic<FaultReason>, 'severity'>>;

/** A part of a route. All parts of one route share what is wrong. */
export class Place {
  readonly faults: RouteFault[];
  readonly #path: Path;

  constructor(faults: RouteFault[] = [], path: Path = []) {
    this.faults = faults;
    this.#path = path;
  }

  /** A part of this part. */
  in(...steps: Path): Place {
    return new Place(this.faults, [...this.#path, ...steps]);
  }

  /** Adds a fault, and returns undefined: the part does not exist. */
  add(reason: FaultReason, message: string): undefined {
    this.faults.push({ reason, path: formatPath(this.#path), message });
  }

  /**
   * Finds fields that this program does not know, as a later version of the CRD may have them. To ignore one of these
   * could send traffic where the author forbids it, so the part that has it is refused.
   */
  unknownFields(object: object, known: readonly string[]): boolean {
    return this.#others(object, known, 'UnsupportedValue', ': remove it');
  }

  /** The same for fields without which the rest may go on: `effect` says how. */
  ignoredFields(
    object: object,
    known: readonly string[],
    effect = ', so the rule works without it',
  ): boolean {
    return this.#others(object, known, 'FieldIgnored', effect);
  }

  #others(object: object, known: readonly string[], reason: FaultReason, effect: string): boolean {
    const others = Object.keys(object).filter((key) => !known.includes(key));
    for (const key of others) this.in(key).add(reason, `is not supported${effect}`);
    return others.length > 0;
  }
}

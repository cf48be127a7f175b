/** An input that has a size, and the work that it makes. */
export interface GrowingInput {
  readonly name: string;
  /** The work on an input of n parts. Making the input is not counted; the work is. */
  readonly work: (n: number) => () => unknown;
  /** How many parts the smallest input has, where another number shows more. */
  readonly from?: number;
}

/** A value for each of n parts. */
export function times<T>(n: number, make: (index: number) => T): T[] {
  return Array.from({ length: n }, (_, index) => make(index));
}

/** What a field of a Kubernetes type holds. Any other name is another type of the same table. */
type Scalar = 'string' | 'integer' | 'number' | 'boolean' | 'quantity' | 'int-or-string' | 'any';

/** One field, as the Kubernetes OpenAPI describes it. */
export interface FieldSchema {
  readonly type: Scalar | (string & {});
  readonly required?: true;
  /** A list of `type`. */
  readonly list?: true;
  /** A map from strings to `type`. */
  readonly map?: true;
  /** The fields that tell the items of a list apart when two lists are merged; without them it is atomic. */
  readonly mergeKeys?: readonly string[];
  /** The values that the API server accepts. */
  readonly values?: readonly string[];
  readonly default?: string;
}

export type ObjectSchema = Readonly<Record<string, FieldSchema>>;

/** Types by name. */
export type Schema = Readonly<Record<string, ObjectSchema>>;

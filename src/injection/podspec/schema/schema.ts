/** The type of a field. Any other name is a type of the same table. */
type Scalar = 'string' | 'int32' | 'int64' | 'number' | 'boolean' | 'quantity' | 'int-or-string' | 'any';

/** One field, as the Kubernetes OpenAPI and the API server's validation describe it. */
export interface FieldSchema {
  readonly type: Scalar | (string & {});
  /** Whether the field must be set; text and lists must not be empty. */
  readonly required?: true;
  /** A list of `type`. */
  readonly list?: true;
  /** A map from strings to `type`. */
  readonly map?: true;
  /** The fields that identify items when two lists are merged. A list without them is atomic. */
  readonly mergeKeys?: readonly string[];
  /** The accepted values. */
  readonly values?: readonly string[];
  /** What the API server writes if the field is absent. */
  readonly default?: string | number;
  /** The minimum and maximum of a number. */
  readonly range?: readonly [number, number];
}

export type ObjectSchema = Readonly<Record<string, FieldSchema>>;

/** Types by name. */
export type Schema = Readonly<Record<string, ObjectSchema>>;

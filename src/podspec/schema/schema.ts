/** What a field of a Kubernetes type holds. Any other name is another type of the same table. */
type Scalar = 'string' | 'int32' | 'int64' | 'number' | 'boolean' | 'quantity' | 'int-or-string' | 'any';

/** Forms of text that the API server's validation asks for. */
export type TextFormat =
  | 'absolute-path'
  | 'dns-label'
  | 'dns-search'
  | 'dns-subdomain'
  | 'env-name'
  | 'field-path'
  | 'inner-path'
  | 'ip'
  | 'port-name'
  | 'resource-field'
  | 'sysctl';

/** One field, as the Kubernetes OpenAPI and the API server's validation describe it. */
export interface FieldSchema {
  readonly type: Scalar | (string & {});
  /** Must be there, and text and lists must not be empty. */
  readonly required?: true;
  /** A list of `type`. */
  readonly list?: true;
  /** A map from strings to `type`. */
  readonly map?: true;
  /** The fields that tell the items of a list apart when two lists are merged; without them it is atomic. */
  readonly mergeKeys?: readonly string[];
  /** The values that are accepted. */
  readonly values?: readonly string[];
  readonly default?: string;
  /** The least and the most that a number may be. */
  readonly range?: readonly [number, number];
  readonly format?: TextFormat;
}

export type ObjectSchema = Readonly<Record<string, FieldSchema>>;

/** Types by name. */
export type Schema = Readonly<Record<string, ObjectSchema>>;

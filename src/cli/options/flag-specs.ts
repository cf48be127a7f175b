/** One flag: its parser, its default as text, and its help. Without a default, the value is undefined. */
export interface FlagSpec<T> {
  readonly parse: (text: string) => T;
  readonly default?: string | (() => string);
  readonly help: string;
  /** The name of the value in the help; a switch has none. */
  readonly value?: string;
}

export type FlagSpecs = Readonly<Record<string, FlagSpec<unknown>>>;

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : S;

type Parsed<S extends FlagSpec<unknown>> = S extends { readonly default: string | (() => string) }
  ? ReturnType<S['parse']>
  : ReturnType<S['parse']> | undefined;

/** The values of flags: durations in milliseconds. */
export type ParsedFlags<F extends FlagSpecs> = {
  readonly [K in keyof F & string as Camel<K>]: Parsed<F[K]>;
};

/** What a pod can change about its sidecar by an annotation of its own. */
export const OVERRIDES = [
  'image',
  'cpu-request',
  'cpu-limit',
  'memory-request',
  'memory-limit',
  'log-level',
  'concurrency',
] as const;

export type Override = (typeof OVERRIDES)[number];

/** The names of every label and annotation that injection reads or writes. */
export interface Keys {
  /** Opts in or out: a label or annotation of a pod, or a label of a namespace. */
  readonly optIn: string;
  /** The annotation in which an injected pod records what was done to it. */
  readonly status: string;
  /** The annotation that names the templates to use. */
  readonly templates: string;
  /** The annotations that change the sidecar of one pod. */
  readonly overrides: Readonly<Record<Override, string>>;
}

export const DEFAULT_KEY = 'initializer.kubernetes.io/envoy';

/** The keys that follow from the one given by `--annotation`. */
export function keysFor(base: string = DEFAULT_KEY): Keys {
  const overrides = Object.fromEntries(OVERRIDES.map((name) => [name, `${base}-${name}`]));
  return {
    optIn: base,
    status: `${base}-status`,
    templates: `${base}-templates`,
    overrides: overrides as Record<Override, string>,
  };
}

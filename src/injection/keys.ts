/** The settings of its sidecar that a pod can change by an annotation. */
export const OVERRIDES = ['image', 'cpu-request', 'cpu-limit', 'memory-request', 'memory-limit'] as const;

export type Override = (typeof OVERRIDES)[number];

/** The names of every label and annotation that injection reads or writes. */
export interface Keys {
  /** Opts in or out: a label or annotation of a pod, or a label of a namespace. */
  readonly optIn: string;
  /** The annotation that records what was added to the pod. */
  readonly status: string;
  /** The annotation that selects templates by name. */
  readonly templates: string;
  /** The annotations that change the sidecar of one pod. */
  readonly overrides: Readonly<Record<Override, string>>;
}

/** The other annotations of pods with the prefix of the overrides. */
const EXCLUDED = ['exclude-inbound-ports', 'exclude-outbound-ports'];
const OTHERS = ['status', 'templates', 'routes', ...EXCLUDED];

/** The annotations with ports that bypass Envoy. */
export function excludedPorts({ optIn }: Pick<Keys, 'optIn'>): readonly string[] {
  return EXCLUDED.map((name) => `${optIn}-${name}`);
}

/** The annotations of pods that begin with the prefix of the overrides and have a meaning. */
export function knownAnnotations({ optIn, overrides }: Keys): readonly string[] {
  return [...Object.values(overrides), ...OTHERS.map((name) => `${optIn}-${name}`)];
}

/** The label of pods and namespaces, and the annotation of pods, that keeps rollouts away with the value `false`. */
export const ROLLOUT_ANNOTATION = 'initializer.kubernetes.io/rollout';
/** The annotation that takes a pod out of its Services: the default template mounts it for Envoy. */
export const DRAIN = 'initializer.kubernetes.io/drain';

export const DEFAULT_KEY = 'initializer.kubernetes.io/envoy';

/** The keys derived from the value of `--annotation`. */
export function keysFor(base: string = DEFAULT_KEY): Keys {
  const overrides = Object.fromEntries(OVERRIDES.map((name) => [name, `${base}-${name}`]));
  return {
    optIn: base,
    status: `${base}-status`,
    templates: `${base}-templates`,
    overrides: overrides as Record<Override, string>,
  };
}

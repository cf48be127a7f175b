import { type Pin, pinOf, pinsOf } from '../go/pins.ts';

/** What each version of Kubernetes runs with. */
export const ETCD = pinOf('go.etcd.io/etcd/server/v3');

/** By minor version, as in `1.31`. */
const VERSIONS: ReadonlyMap<string, Pin> = new Map(
  pinsOf('k8s.io/kubernetes').map((pin) => [pin.version.slice(1).split('.', 2).join('.'), pin]),
);

/** The minor version that all tests use. */
const OURS = '1.36';

/** The minor versions that there are, in order. */
export function minorVersions(): readonly string[] {
  return [...VERSIONS.keys()];
}

/**
 * The version in `KUBERNETES`, as in `1.31`, or the one that all tests use.
 * @throws for a version that is not there, with those that are.
 */
export function chosenKubernetes(env: NodeJS.ProcessEnv): Pin {
  const chosen = env.KUBERNETES || OURS;
  const pin = VERSIONS.get(chosen);
  if (pin === undefined) {
    throw new Error(`KUBERNETES=${chosen}: expected one of ${minorVersions().join(', ')}`);
  }
  return pin;
}

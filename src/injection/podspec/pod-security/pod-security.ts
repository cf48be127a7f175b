import type { Pod } from '../pod.ts';
import { ALLOWED_SINCE, baselineViolations } from './pod-security-baseline.ts';
import { restrictedViolations } from './pod-security-restricted.ts';
import { SINCE, type Standard } from './standard.ts';

/** The label of a namespace for the level of pod security that the API server enforces. */
export const ENFORCE_LABEL = 'pod-security.kubernetes.io/enforce';
/** The label of a namespace for the version of the standards, such as `v1.31`; default `latest`. */
export const ENFORCE_VERSION_LABEL = `${ENFORCE_LABEL}-version`;

/** The minor versions in which the standards change, from the first one, 0. */
export const STANDARD_CHANGES: readonly number[] = [
  ...new Set([...Object.values(SINCE), ...ALLOWED_SINCE]),
].sort((a, b) => a - b);

/** What a namespace enforces. */
export interface PodSecurity extends Standard {
  readonly level: string | undefined;
}

/**
 * What a namespace with these labels enforces. The API server reads an invalid version as `latest`, and has no rules of
 * versions that are newer than it is. `serverMinor` is the 31 of Kubernetes 1.31; undefined: the newest.
 */
export function podSecurityOf(
  labels: Readonly<Record<string, string>>,
  serverMinor = Number.POSITIVE_INFINITY,
): PodSecurity {
  const label = (name: string) => (Object.hasOwn(labels, name) ? labels[name] : undefined);
  const [, minor] = /^v1\.(0|[1-9]\d*)$/.exec(label(ENFORCE_VERSION_LABEL) ?? '') ?? [];
  const version = minor === undefined ? serverMinor : Math.min(Number(minor), serverMinor);
  return { level: label(ENFORCE_LABEL), version, server: serverMinor };
}

/**
 * What the Pod Security Standards forbid in the parts of a pod that a template can add
 * (k8s.io/pod-security-admission/policy, until 1.37). Empty for `privileged` and for unknown levels.
 */
export function podSecurityViolations(pod: Pod, { level, ...standard }: PodSecurity): readonly string[] {
  switch (level) {
    case 'baseline':
      return [...baselineViolations(pod, standard)];
    case 'restricted':
      return [...baselineViolations(pod, standard), ...restrictedViolations(pod, standard)];
    default:
      return [];
  }
}

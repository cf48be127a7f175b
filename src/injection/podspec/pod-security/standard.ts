/** The version of the Pod Security Standards that a namespace enforces, as minor versions of Kubernetes. */
export interface Standard {
  /** The version of the standards; never newer than the API server. */
  readonly version: number;
  /** The API server's own version: Infinity if it is unknown, which stands for the newest. */
  readonly server: number;
}

/** The minor version since which the standards have a rule or an exception. */
export const SINCE = {
  allowPrivilegeEscalation: 8,
  /** Older standards know only the annotations. */
  seccompProfile: 19,
  dropCapabilities: 22,
  runAsUser: 23,
  /** Of the API server, with any version of the standards. */
  imageVolumes: 33,
  probeHost: 34,
  /** Pods with a user namespace of their own may run as root there. */
  userNamespaces: 35,
} as const;

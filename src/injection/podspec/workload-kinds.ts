/** A kind of object that is a pod or holds a pod template. */
export interface WorkloadKind {
  readonly kind: string;
  readonly group: string;
  /** The group of the kind in earlier releases of Kubernetes: files may still name it. */
  readonly formerGroup?: string;
  /** The keys down to the object with the pods' `metadata` and `spec`. */
  readonly path: readonly string[];
  /** The keys down to the claims that its controller adds to each pod as volumes of their names. */
  readonly claims?: readonly string[];
  /** The name in API paths, version v1. Absent for kinds that the command line does not look up in a cluster. */
  readonly plural?: string;
  /** kubectl's short names. */
  readonly shortNames?: readonly string[];
  /** Whether users apply it. The policy in deploy/base/opt-in-mistake.yaml warns them of opt-ins without effect. */
  readonly isApplied?: true;
  /** Whether it replaces its pods if their template changes. */
  readonly isRolling?: true;
  /** Whether its selector is a plain map of labels. */
  readonly hasPlainSelector?: true;
  /** The suffix after the name of its creator: the value of one of these labels of its pods, or this pattern. */
  readonly nameSuffix?: { readonly labels: readonly string[] } | { readonly pattern: RegExp };
}

const TEMPLATE = ['spec', 'template'];

/** The kinds of workload of Kubernetes itself. After a change run `make generate`. */
export const WORKLOAD_KINDS: readonly WorkloadKind[] = [
  {
    kind: 'Deployment',
    group: 'apps',
    formerGroup: 'extensions',
    path: TEMPLATE,
    plural: 'deployments',
    shortNames: ['deploy'],
    isApplied: true,
    isRolling: true,
  },
  {
    kind: 'StatefulSet',
    group: 'apps',
    path: TEMPLATE,
    claims: ['spec', 'volumeClaimTemplates'],
    plural: 'statefulsets',
    shortNames: ['sts'],
    isApplied: true,
    isRolling: true,
  },
  {
    kind: 'DaemonSet',
    group: 'apps',
    formerGroup: 'extensions',
    path: TEMPLATE,
    plural: 'daemonsets',
    shortNames: ['ds'],
    isApplied: true,
    isRolling: true,
  },
  {
    kind: 'ReplicaSet',
    group: 'apps',
    formerGroup: 'extensions',
    path: TEMPLATE,
    plural: 'replicasets',
    shortNames: ['rs'],
    isApplied: true,
    // Those of Deployments, and of Rollouts of Argo.
    nameSuffix: { labels: ['pod-template-hash', 'rollouts-pod-template-hash'] },
  },
  // The Job of a CronJob ends in the minutes since 1970 (k8s.io/kubernetes/pkg/controller/cronjob, getJobName): here those of
  // 2016, when CronJobs came, until 2065. Other numbers, such as dates, are users'.
  {
    kind: 'Job',
    group: 'batch',
    path: TEMPLATE,
    plural: 'jobs',
    isApplied: true,
    nameSuffix: { pattern: /-(?:2[4-9]|[34]\d)\d{6}$/ },
  },
  {
    kind: 'CronJob',
    group: 'batch',
    path: ['spec', 'jobTemplate', ...TEMPLATE],
    plural: 'cronjobs',
    shortNames: ['cj'],
    isApplied: true,
  },
  {
    kind: 'ReplicationController',
    group: '',
    path: TEMPLATE,
    plural: 'replicationcontrollers',
    shortNames: ['rc'],
    isApplied: true,
    hasPlainSelector: true,
  },
  { kind: 'Pod', group: '', path: [], plural: 'pods', shortNames: ['po'] },
  { kind: 'PodTemplate', group: '', path: ['template'] },
];

/** A kind of a custom resource whose controller makes pods. */
interface CustomKind {
  readonly kind: string;
  readonly group: string;
  /** The name in API paths. */
  readonly plural: string;
  /** The paths of its pod templates, as `parseTemplatePath` reads them. */
  readonly paths: readonly string[];
  /** The label or annotation of its pods that has its name, if it makes them through objects of other names. */
  readonly nameKey?: string;
}

/** The pod templates of a Ray cluster. */
function ray(cluster: string): readonly string[] {
  return [`${cluster}.headGroupSpec.template`, `${cluster}.workerGroupSpecs[].template`];
}

/** Custom resources with pod templates that need no `--pod-template-path`. After a change run `make generate`. */
export const CUSTOM_KINDS: readonly CustomKind[] = [
  {
    kind: 'DeploymentConfig',
    group: 'apps.openshift.io',
    plural: 'deploymentconfigs',
    paths: ['spec.template'],
    nameKey: 'openshift.io/deployment-config.name',
  },
  { kind: 'Rollout', group: 'argoproj.io', plural: 'rollouts', paths: ['spec.template'] },
  {
    kind: 'Service',
    group: 'serving.knative.dev',
    plural: 'services',
    paths: ['spec.template'],
    nameKey: 'serving.knative.dev/service',
  },
  {
    kind: 'Configuration',
    group: 'serving.knative.dev',
    plural: 'configurations',
    paths: ['spec.template'],
    nameKey: 'serving.knative.dev/configuration',
  },
  {
    kind: 'JobSet',
    group: 'jobset.x-k8s.io',
    plural: 'jobsets',
    paths: ['spec.replicatedJobs[].template.spec.template'],
    nameKey: 'jobset.sigs.k8s.io/jobset-name',
  },
  {
    kind: 'LeaderWorkerSet',
    group: 'leaderworkerset.x-k8s.io',
    plural: 'leaderworkersets',
    paths: ['spec.leaderWorkerTemplate.leaderTemplate', 'spec.leaderWorkerTemplate.workerTemplate'],
    nameKey: 'leaderworkerset.sigs.k8s.io/name',
  },
  {
    kind: 'PyTorchJob',
    group: 'kubeflow.org',
    plural: 'pytorchjobs',
    paths: ['spec.pytorchReplicaSpecs.*.template'],
  },
  { kind: 'Job', group: 'batch.volcano.sh', plural: 'jobs', paths: ['spec.tasks[].template'] },
  { kind: 'RayCluster', group: 'ray.io', plural: 'rayclusters', paths: ray('spec') },
  {
    kind: 'RayJob',
    group: 'ray.io',
    plural: 'rayjobs',
    paths: [...ray('spec.rayClusterSpec'), 'spec.submitterPodTemplate'],
  },
  { kind: 'RayService', group: 'ray.io', plural: 'rayservices', paths: ray('spec.rayClusterConfig') },
];

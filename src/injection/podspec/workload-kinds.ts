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

const path = ['spec', 'template'];
/** The ReplicaSets of Deployments, and of Rollouts of Argo. */
const HASHES = ['pod-template-hash', 'rollouts-pod-template-hash'];
/**
 * The Job of a CronJob ends in the minutes since 1970 (k8s.io/kubernetes/pkg/controller/cronjob, getJobName): here those of
 * 2016, when CronJobs came, until 2065. Other numbers, such as dates, are users'.
 */
const MINUTES = /-(?:2[4-9]|[34]\d)\d{6}$/;

/** What users apply, and what also replaces its pods if their template changes. */
const applied = { isApplied: true } as const;
const rolling = { ...applied, isRolling: true } as const;
const apps = { group: 'apps', path } as const;
const extensions = { ...apps, formerGroup: 'extensions' } as const;
const core = { group: '' } as const;

/** The kinds of workload of Kubernetes itself. After a change run `make generate`. */
export const WORKLOAD_KINDS: readonly WorkloadKind[] = [
  { kind: 'Deployment', ...extensions, plural: 'deployments', shortNames: ['deploy'], ...rolling },
  {
    ...{ kind: 'StatefulSet', ...apps, claims: ['spec', 'volumeClaimTemplates'] },
    ...{ plural: 'statefulsets', shortNames: ['sts'], ...rolling },
  },
  { kind: 'DaemonSet', ...extensions, plural: 'daemonsets', shortNames: ['ds'], ...rolling },
  {
    ...{ kind: 'ReplicaSet', ...extensions, plural: 'replicasets', shortNames: ['rs'], ...applied },
    nameSuffix: { labels: HASHES },
  },
  { kind: 'Job', group: 'batch', path, plural: 'jobs', ...applied, nameSuffix: { pattern: MINUTES } },
  {
    ...{ kind: 'CronJob', group: 'batch', path: ['spec', 'jobTemplate', ...path] },
    ...{ plural: 'cronjobs', shortNames: ['cj'], ...applied },
  },
  {
    ...{ kind: 'ReplicationController', ...core, path, plural: 'replicationcontrollers', shortNames: ['rc'] },
    ...{ ...applied, hasPlainSelector: true },
  },
  { kind: 'Pod', ...core, path: [], plural: 'pods', shortNames: ['po'] },
  { kind: 'PodTemplate', ...core, path: ['template'] },
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

const paths = ['spec.template'];
const knative = { group: 'serving.knative.dev', paths } as const;
const kubeRay = { group: 'ray.io' } as const;

/** Custom resources with pod templates that need no `--pod-template-path`. After a change run `make generate`. */
export const CUSTOM_KINDS: readonly CustomKind[] = [
  {
    ...{ kind: 'DeploymentConfig', group: 'apps.openshift.io', plural: 'deploymentconfigs', paths },
    nameKey: 'openshift.io/deployment-config.name',
  },
  { kind: 'Rollout', group: 'argoproj.io', plural: 'rollouts', paths },
  { kind: 'Service', ...knative, plural: 'services', nameKey: 'serving.knative.dev/service' },
  {
    ...{ kind: 'Configuration', ...knative, plural: 'configurations' },
    nameKey: 'serving.knative.dev/configuration',
  },
  {
    ...{ kind: 'JobSet', group: 'jobset.x-k8s.io', plural: 'jobsets' },
    ...{ paths: ['spec.replicatedJobs[].template.spec.template'], nameKey: 'jobset.sigs.k8s.io/jobset-name' },
  },
  {
    ...{ kind: 'LeaderWorkerSet', group: 'leaderworkerset.x-k8s.io', plural: 'leaderworkersets' },
    paths: ['spec.leaderWorkerTemplate.leaderTemplate', 'spec.leaderWorkerTemplate.workerTemplate'],
    nameKey: 'leaderworkerset.sigs.k8s.io/name',
  },
  {
    ...{ kind: 'PyTorchJob', group: 'kubeflow.org', plural: 'pytorchjobs' },
    paths: ['spec.pytorchReplicaSpecs.*.template'],
  },
  { kind: 'Job', group: 'batch.volcano.sh', plural: 'jobs', paths: ['spec.tasks[].template'] },
  { kind: 'RayCluster', ...kubeRay, plural: 'rayclusters', paths: ray('spec') },
  {
    ...{ kind: 'RayJob', ...kubeRay, plural: 'rayjobs' },
    paths: [...ray('spec.rayClusterSpec'), 'spec.submitterPodTemplate'],
  },
  { kind: 'RayService', ...kubeRay, plural: 'rayservices', paths: ray('spec.rayClusterConfig') },
];

import { annotation, label, type Pod } from './pod.ts';

/** A kind of object that is a pod or holds a pod template. */
export interface WorkloadKind {
  readonly kind: string;
  readonly group: string;
  /** The group of the kind in earlier releases of Kubernetes: files may still name it. */
  readonly formerGroup?: string;
  /** The keys down to the object with the pods' `metadata` and `spec`. */
  readonly path: readonly string[];
  /** The name in API paths, version v1. Absent for kinds that the command line does not look up in a cluster. */
  readonly plural?: string;
  /** kubectl's short names. */
  readonly shortNames?: readonly string[];
  /** Whether its selector is a plain map of labels. */
  readonly hasPlainSelector?: true;
}

const path = ['spec', 'template'];
/** The kinds of workload of Kubernetes itself. A change belongs into deploy/base/opt-in-mistake.yaml, too. */
// biome-ignore format: a line for each kind
export const WORKLOAD_KINDS: readonly WorkloadKind[] = [
  { kind: 'Deployment', group: 'apps', formerGroup: 'extensions', path, plural: 'deployments', shortNames: ['deploy'] },
  { kind: 'StatefulSet', group: 'apps', path, plural: 'statefulsets', shortNames: ['sts'] },
  { kind: 'DaemonSet', group: 'apps', formerGroup: 'extensions', path, plural: 'daemonsets', shortNames: ['ds'] },
  { kind: 'ReplicaSet', group: 'apps', formerGroup: 'extensions', path, plural: 'replicasets', shortNames: ['rs'] },
  { kind: 'Job', group: 'batch', path, plural: 'jobs' },
  { kind: 'CronJob', group: 'batch', path: ['spec', 'jobTemplate', ...path], plural: 'cronjobs', shortNames: ['cj'] },
  { kind: 'ReplicationController', group: '', path, plural: 'replicationcontrollers', shortNames: ['rc'], hasPlainSelector: true },
  { kind: 'Pod', group: '', path: [], plural: 'pods', shortNames: ['po'] },
  { kind: 'PodTemplate', group: '', path: ['template'] },
];

/** A kind of a custom resource whose controller makes pods. */
interface CustomKind {
  readonly kind: string;
  readonly group: string;
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
const leaderWorker = ['leaderTemplate', 'workerTemplate'].map((name) => `spec.leaderWorkerTemplate.${name}`);

/** Custom resources with pod templates that need no `--pod-template-path`. A change belongs into deploy/base/opt-in-mistake.yaml, too. */
// biome-ignore format: a line for each kind
export const CUSTOM_KINDS: readonly CustomKind[] = [
  { kind: 'DeploymentConfig', group: 'apps.openshift.io', paths, nameKey: 'openshift.io/deployment-config.name' },
  { kind: 'Rollout', group: 'argoproj.io', paths },
  { kind: 'Service', group: 'serving.knative.dev', paths, nameKey: 'serving.knative.dev/service' },
  { kind: 'Configuration', group: 'serving.knative.dev', paths, nameKey: 'serving.knative.dev/configuration' },
  { kind: 'JobSet', group: 'jobset.x-k8s.io', paths: ['spec.replicatedJobs[].template.spec.template'], nameKey: 'jobset.sigs.k8s.io/jobset-name' },
  { kind: 'LeaderWorkerSet', group: 'leaderworkerset.x-k8s.io', paths: leaderWorker, nameKey: 'leaderworkerset.sigs.k8s.io/name' },
  { kind: 'PyTorchJob', group: 'kubeflow.org', paths: ['spec.pytorchReplicaSpecs.*.template'] },
  { kind: 'Job', group: 'batch.volcano.sh', paths: ['spec.tasks[].template'] },
  { kind: 'RayCluster', group: 'ray.io', paths: ray('spec') },
  { kind: 'RayJob', group: 'ray.io', paths: [...ray('spec.rayClusterSpec'), 'spec.submitterPodTemplate'] },
  { kind: 'RayService', group: 'ray.io', paths: ray('spec.rayClusterConfig') },
];

/** The labels of the pods of ReplicaSets of Deployments, and of Rollouts of Argo, with the end of the name of the ReplicaSet. */
const HASHES = ['pod-template-hash', 'rollouts-pod-template-hash'];
/**
 * The Job of a CronJob ends in the minutes since 1970 (k8s.io/kubernetes/pkg/controller/cronjob, getJobName): here those of
 * 2016, when CronJobs came, until 2065. Other numbers, such as dates, are users'.
 */
const MINUTES = /-(?:2[4-9]|[34]\d)\d{6}$/;

/** The name of what has created the controller of a pod, such as its Deployment; the controller's if it is unknown. */
export function creatorName(
  { kind, name }: { readonly kind: string; readonly name: string },
  pod: Pod,
): string {
  for (const { nameKey } of CUSTOM_KINDS) {
    const said = nameKey === undefined ? undefined : label(pod, nameKey) || annotation(pod, nameKey);
    if (said) return said;
  }
  if (kind === 'Job') return name.replace(MINUTES, '');
  const hashes = kind === 'ReplicaSet' ? HASHES.map((key) => label(pod, key)) : [];
  const hash = hashes.find((value) => value && name.endsWith(`-${value}`));
  return hash === undefined ? name : name.slice(0, -hash.length - 1);
}

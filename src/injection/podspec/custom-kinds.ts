/** A kind of a custom resource whose controller makes pods. */
export interface CustomKind {
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

/** A kind whose controller makes pods from other fields than a pod template. */
export interface TemplatelessKind {
  readonly kind: string;
  readonly group: string;
  /** Where its pods' labels and annotations are. */
  readonly podMetadata: string;
}

/** Only the webhook can inject the pods of these kinds. */
export const TEMPLATELESS_KINDS: readonly TemplatelessKind[] = [
  { kind: 'Workflow', group: 'argoproj.io', podMetadata: 'spec.podMetadata' },
  { kind: 'WorkflowTemplate', group: 'argoproj.io', podMetadata: 'spec.podMetadata' },
  { kind: 'ClusterWorkflowTemplate', group: 'argoproj.io', podMetadata: 'spec.podMetadata' },
  { kind: 'CronWorkflow', group: 'argoproj.io', podMetadata: 'spec.workflowSpec.podMetadata' },
  { kind: 'InferenceService', group: 'serving.kserve.io', podMetadata: 'metadata' },
];

import { expect, test } from '@jest/globals';
import { creatorName } from '../../../../src/injection/podspec/workload-kinds.ts';
import type { JsonObject } from '../../../../src/util/json.ts';

// biome-ignore format: a line for each case
test.each<[string, string, string, JsonObject, string]>([
  ['of a Deployment, whose ReplicaSet has a hash', 'ReplicaSet', 'web-5b69b9f8c6', { labels: { 'pod-template-hash': '5b69b9f8c6' } }, 'web'],
  ['of a Rollout of Argo', 'ReplicaSet', 'roll-7c9d', { labels: { 'rollouts-pod-template-hash': '7c9d' } }, 'roll'],
  ['of a Service of Knative, by its label', 'ReplicaSet', 'hello-1-5b', { labels: { 'pod-template-hash': '5b', 'serving.knative.dev/service': 'hello' } }, 'hello'],
  ['of a JobSet', 'Job', 'train-w-0', { labels: { 'jobset.sigs.k8s.io/jobset-name': 'train' } }, 'train'],
  ['of a LeaderWorkerSet, whose workers have StatefulSets', 'StatefulSet', 'lws-0', { labels: { 'leaderworkerset.sigs.k8s.io/name': 'lws' } }, 'lws'],
  ['of a DeploymentConfig, by its annotation', 'ReplicationController', 'web-3', { annotations: { 'openshift.io/deployment-config.name': 'web' } }, 'web'],
  ['of a standalone ReplicaSet', 'ReplicaSet', 'web-5b69b9f8c6', {}, 'web-5b69b9f8c6'],
  ['of a ReplicaSet that only looks like it has a hash', 'ReplicaSet', 'web5b69b9f8c6', { labels: { 'pod-template-hash': '5b69b9f8c6' } }, 'web5b69b9f8c6'],
  ['of a CronJob, whose Job has the minute', 'Job', 'backup-29384756', {}, 'backup'],
  ['of a Job that ends in a date', 'Job', 'migrate-20240115', {}, 'migrate-20240115'],
  ['of a standalone Job', 'Job', 'migrate-42', {}, 'migrate-42'],
  ['of a Job with a number of its own', 'Job', 'migrate-12345678', {}, 'migrate-12345678'],
  ['of a Job that ends in a second', 'Job', 'migrate-1732600000', {}, 'migrate-1732600000'],
  ['of a StatefulSet', 'StatefulSet', 'db-12345678', {}, 'db-12345678'],
])('the name of the workload is that %s', (_, kind, name, metadata, expected) => {
  expect(creatorName({ kind, name }, { metadata })).toBe(expected);
});

import { admit } from './admit.ts';
import { injectionRequests } from './metrics.ts';
import { quietly, type Stage, show } from './stage.ts';

const CONTAINERS = ['-o', 'jsonpath={.spec.containers[*].name}'];

/** Pods that opt in by annotation, by label and by namespace, and one that does not. */
export async function playInjection(stage: Stage, plainWithoutUs: string): Promise<void> {
  await byAnnotation(stage);
  await byLabel(stage);
  await byNamespace(stage);
  await notOptedIn(stage, plainWithoutUs);
}

async function byAnnotation(stage: Stage): Promise<void> {
  const { narrator } = stage;
  narrator.heading('A pod that opts in by annotation');
  await show(stage, ['apply', '-f', 'deploy/examples/myapp-pod.yaml']);
  const { stdout: names } = await show(stage, ['get', 'pod', 'myapp-pod', ...CONTAINERS]);
  narrator.claim(
    "the pod's containers are its own first, then envoy",
    names === 'myapp-container envoy',
    names,
  );
  const pod: unknown = JSON.parse(await quietly(stage, ['get', 'pod', 'myapp-pod', '-o', 'json']));
  const { stdout: volumes } = await show(stage, [
    'get',
    'pod',
    'myapp-pod',
    '-o',
    'jsonpath={.spec.volumes[*].name}',
  ]);
  narrator.claim('the volume envoy-conf is there', volumes.split(' ').includes('envoy-conf'), volumes);

  const before: unknown = JSON.parse(
    await quietly(stage, [
      'create',
      '--dry-run=client',
      '-o',
      'json',
      '-f',
      'deploy/examples/myapp-pod.yaml',
    ]),
  );
  narrator.say('The patch that the webhook answers to the API server for this pod:');
  const patch = await admit(stage, before);
  for (const operation of patch) narrator.say(`  ${JSON.stringify(operation)}`);
  narrator.claim(
    'it only adds',
    patch.length > 0 && patch.every(({ op }) => op === 'add'),
    JSON.stringify(patch),
  );
  const again = await admit(stage, pod);
  narrator.claim('a second admission gives no patch', again.length === 0, JSON.stringify(again));
}

async function byLabel(stage: Stage): Promise<void> {
  stage.narrator.heading('The same by label');
  await show(stage, ['apply', '-f', 'deploy/examples/myapp-pod-by-label.yaml']);
  const { stdout } = await show(stage, ['get', 'pod', 'myapp-pod-by-label', ...CONTAINERS]);
  stage.narrator.claim('it has the sidecar', stdout === 'myapp-container envoy', stdout);
}

async function byNamespace(stage: Stage): Promise<void> {
  const { narrator, controlPlane } = stage;
  narrator.heading('A Deployment in a namespace that opts in');
  await show(stage, ['apply', '-f', 'deploy/examples/helloworld.yaml']);
  if (!controlPlane.hasControllerManager) {
    narrator.say('There is no kube-controller-manager among these binaries: the Deployment makes no pods.');
    return;
  }
  await quietly(stage, [
    ...['wait', '--namespace=helloworld', 'deployment/helloworld', '--timeout=60s'],
    '--for=jsonpath={.status.replicas}=2',
  ]);
  const columns = '-o=custom-columns=POD:.metadata.name,CONTAINERS:.spec.containers[*].name';
  await show(stage, ['get', 'pods', '--namespace=helloworld', columns]);
  const rows = await quietly(stage, [
    ...['get', 'pods', '--namespace=helloworld', '-o'],
    'jsonpath={range .items[*]}{.spec.containers[*].name}{"\\n"}{end}',
  ]);
  const pods = rows.trim().split('\n');
  const all = pods.length === 2 && pods.every((names) => names === 'helloworld envoy');
  narrator.claim('both of its pods have the sidecar', all, rows);
}

async function notOptedIn(stage: Stage, withoutUs: string): Promise<void> {
  const { narrator } = stage;
  narrator.heading('A pod that does not opt in');
  const before = await injectionRequests(stage.metricsUrl);
  await show(stage, ['apply', '-f', 'deploy/examples/myapp-pod-plain.yaml']);
  const { stdout: names } = await show(stage, ['get', 'pod', 'myapp-pod-plain', ...CONTAINERS]);
  narrator.claim('it has its own container alone', names === 'myapp-container', names);
  const stored = await storedPod(stage, 'myapp-pod-plain');
  narrator.claim(
    'it is what the API server stored before the operator was there',
    stored === withoutUs,
    stored,
  );
  const after = await injectionRequests(stage.metricsUrl);
  narrator.claim('the API server did not ask us about it', before === after, `${after - before} requests`);
}

/** A pod as it is stored, without what differs each time: identity, times, the random name of the token's volume. */
export async function storedPod(stage: Stage, name: string): Promise<string> {
  const pod = JSON.parse(await quietly(stage, ['get', 'pod', name, '-o', 'json']));
  for (const field of ['uid', 'resourceVersion', 'creationTimestamp', 'managedFields'])
    delete pod.metadata[field];
  return JSON.stringify(pod, null, 1).replaceAll(/kube-api-access-\w+/g, 'kube-api-access');
}

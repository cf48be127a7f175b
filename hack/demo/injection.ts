import { admit } from './admit.ts';
import { injectionRequests } from './metrics.ts';
import { change, quietly, type Stage, show } from './stage.ts';

const CONTAINERS = ['-o', 'jsonpath={.spec.containers[*].name}'];

/** Pods that opt in by annotation, by label and by namespace, and one that does not. */
export async function playInjection(stage: Stage, plainWithoutUs: string): Promise<void> {
  await byAnnotation(stage);
  await byNamespace(stage);
  await notOptedIn(stage, plainWithoutUs);
}

async function byAnnotation(stage: Stage): Promise<void> {
  const { narrator } = stage;
  narrator.heading('A pod that opts in');
  await change(stage, ['apply', '-f', 'deploy/examples/myapp-pod.yaml']);
  const { stdout: names } = await show(stage, ['get', 'pod', 'myapp-pod', ...CONTAINERS]);
  const pod = JSON.parse(await quietly(stage, ['get', 'pod', 'myapp-pod', '-o', 'json']));
  const volumes = pod.spec.volumes.map(({ name }: { name: string }) => name);
  const isAdded = names === 'myapp-container envoy' && volumes.includes('envoy-conf');
  narrator.claim(
    "the container envoy and its volume are added after the pod's own",
    isAdded,
    `${names}, ${volumes}`,
  );

  const manifest = ['create', '--dry-run=client', '-o', 'json', '-f', 'deploy/examples/myapp-pod.yaml'];
  const patch = await admit(stage, JSON.parse(await quietly(stage, manifest)));
  const onlyAdds = patch.length > 0 && patch.every(({ op }) => op === 'add');
  narrator.claim(
    "the webhook's patch adds fields, and changes or removes none",
    onlyAdds,
    JSON.stringify(patch),
  );
  const again = await admit(stage, pod);
  narrator.claim('a second review adds nothing', again.length === 0, JSON.stringify(again));

  await quietly(stage, ['apply', '-f', 'deploy/examples/myapp-pod-by-label.yaml']);
  const labelled = await quietly(stage, ['get', 'pod', 'myapp-pod-by-label', ...CONTAINERS]);
  narrator.claim('a label has the same effect as the annotation', labelled === names, labelled);
}

async function byNamespace(stage: Stage): Promise<void> {
  const { narrator, controlPlane } = stage;
  narrator.heading('A Deployment in a namespace that opts in');
  await change(stage, ['apply', '-f', 'deploy/examples/helloworld.yaml']);
  if (!controlPlane.hasControllerManager) {
    narrator.say('These binaries have no kube-controller-manager, so the Deployment creates no pods.');
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
  narrator.claim('both pods have the sidecar', all, rows);
}

async function notOptedIn(stage: Stage, withoutUs: string): Promise<void> {
  const { narrator } = stage;
  narrator.heading('A pod that does not opt in');
  const before = await injectionRequests(stage.metricsUrl);
  await change(stage, ['apply', '-f', 'deploy/examples/myapp-pod-plain.yaml']);
  const stored = await storedPod(stage, 'myapp-pod-plain');
  narrator.claim('it is stored unchanged', stored === withoutUs, stored);
  const after = await injectionRequests(stage.metricsUrl);
  narrator.claim('the API server did not call the webhook', before === after, `${after - before} requests`);
}

/** A stored pod without what differs each time: identity, times, the random name of the token's volume. */
export async function storedPod(stage: Stage, name: string): Promise<string> {
  const pod = JSON.parse(await quietly(stage, ['get', 'pod', name, '-o', 'json']));
  for (const field of ['uid', 'resourceVersion', 'creationTimestamp', 'managedFields'])
    delete pod.metadata[field];
  return JSON.stringify(pod, null, 1).replaceAll(/kube-api-access-\w+/g, 'kube-api-access');
}

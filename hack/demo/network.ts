import { eventually } from '../../test/env/eventually.ts';
import { change, quietly, type Stage, show } from './stage.ts';

const NETWORK = 'network/example-network';
const DEFINITION = 'network-attachment-definition/example-network';
const POD = 'pod/network-pod';
const ADDRESSES = ['get', POD, '-o', 'jsonpath={.metadata.annotations.k8s\\.v1\\.cni\\.cncf\\.io/networks}'];
/** What node agents and pods get. */
const RANGE = ['get', NETWORK, '-o', 'jsonpath={.status.cidr} {.status.gateway}'];

/** Creates a Network, attaches a pod, changes and deletes the Network, and tries an invalid one. */
export async function playNetwork(stage: Stage): Promise<void> {
  await create(stage);
  await attach(stage);
  await update(stage);
  await refuse(stage);
  await remove(stage);
}

async function create(stage: Stage): Promise<void> {
  const { narrator } = stage;
  narrator.heading('A Network');
  await change(stage, ['apply', '-f', 'deploy/examples/example-network.yaml']);
  const { code } = await stage.controlPlane.kubectl([
    'wait',
    '--for=condition=Ready',
    NETWORK,
    '--timeout=30s',
  ]);
  await show(stage, ['get', 'network', '-o', 'wide']);
  narrator.claim('it becomes Ready', code === 0);
  const definition = '{.metadata.ownerReferences[0].kind} {.spec.config}';
  const made = await quietly(stage, ['get', DEFINITION, '-o', `jsonpath=${definition}`]);
  const isOurs = made.startsWith('Network ') && made.includes('"default.example-network"');
  narrator.claim('Multus has its NetworkAttachmentDefinition', isOurs, made);
  const range = await quietly(stage, RANGE);
  narrator.claim('its status has the range', range === '192.168.0.0/16 192.168.0.1', range);
}

async function attach(stage: Stage): Promise<void> {
  await change(stage, ['apply', '-f', 'deploy/examples/network-pod.yaml']);
  await eventually('the gate of the pod is lifted', async () => {
    return (await quietly(stage, ['get', POD, '-o', 'jsonpath={.spec.schedulingGates}'])) === '';
  });
  const { stdout } = await show(stage, ADDRESSES);
  stage.narrator.claim('a pod gets an address of its range', stdout.includes('"192.168.0.2/16"'), stdout);
  await change(stage, ['delete', POD, '--now']);
}

async function update(stage: Stage): Promise<void> {
  const { narrator } = stage;
  await change(stage, ['patch', NETWORK, '--type=merge', '-p', '{"spec":{"gateway":"192.168.0.254"}}']);
  const changed = '--for=jsonpath={.status.gateway}=192.168.0.254';
  await quietly(stage, ['wait', changed, NETWORK, '--timeout=30s']);
  const range = await quietly(stage, RANGE);
  narrator.claim('the change reaches the status', range === '192.168.0.0/16 192.168.0.254', range);
}

async function refuse(stage: Stage): Promise<void> {
  const { narrator } = stage;
  const { code, stderr } = await show(stage, ['apply', '-f', 'deploy/examples/bad-network.yaml']);
  narrator.claim(
    'the API server refuses an invalid Network and names the field',
    code !== 0 && stderr.includes('spec.gateway'),
    stderr,
  );
}

async function remove(stage: Stage): Promise<void> {
  const { narrator, controlPlane } = stage;
  await change(stage, ['delete', NETWORK, '--timeout=30s']);
  await quietly(stage, ['wait', '--for=delete', DEFINITION, '--timeout=30s']);
  const { stdout: left } = await controlPlane.kubectl([
    'get',
    'network,network-attachment-definition',
    '-o',
    'name',
  ]);
  narrator.claim('the deletion leaves nothing behind', left === '', left);
}

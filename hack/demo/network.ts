import { change, quietly, type Stage, show } from './stage.ts';

const NETWORK = 'network/example-network';
const DEFINITION = 'network-attachment-definition/example-network';
const CONFIG = ['get', DEFINITION, '-o', 'jsonpath={.spec.config}'];

/** Creates, changes and deletes a Network, and tries an invalid one. */
export async function playNetwork(stage: Stage): Promise<void> {
  await create(stage);
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
  const owner = await quietly(stage, [
    'get',
    DEFINITION,
    '-o',
    'jsonpath={.metadata.ownerReferences[0].kind}',
  ]);
  const config = await quietly(stage, CONFIG);
  const isOurs =
    owner === 'Network' && config.includes('"192.168.0.0/16"') && config.includes('"192.168.0.1"');
  narrator.claim('Multus has a NetworkAttachmentDefinition with its range', isOurs, `${owner}, ${config}`);
}

async function update(stage: Stage): Promise<void> {
  const { narrator } = stage;
  await change(stage, ['patch', NETWORK, '--type=merge', '-p', '{"spec":{"gateway":"192.168.0.254"}}']);
  await quietly(stage, ['wait', '--for=jsonpath={.status.observedGeneration}=2', NETWORK, '--timeout=30s']);
  const config = await quietly(stage, CONFIG);
  narrator.claim(
    'the change reaches the NetworkAttachmentDefinition',
    config.includes('"192.168.0.254"'),
    config,
  );
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

import { quietly, type Stage, show } from './stage.ts';

const NETWORK = 'network/example-network';
const NAD = 'network-attachment-definition/example-network';

/** A Network made, read, changed, refused and deleted. */
export async function playNetwork(stage: Stage): Promise<void> {
  await create(stage);
  await update(stage);
  await refuse(stage);
  await remove(stage);
}

async function create(stage: Stage): Promise<void> {
  const { narrator } = stage;
  narrator.heading('A Network');
  await show(stage, ['apply', '-f', 'deploy/examples/example-network.yaml']);
  const { code } = await show(stage, ['wait', '--for=condition=Ready', NETWORK, '--timeout=30s']);
  narrator.claim('it becomes Ready', code === 0);
  await show(stage, ['get', 'network']);
  await show(stage, ['describe', NETWORK]);
  const { stdout: owner } = await show(stage, [
    'get',
    NAD,
    '-o',
    'jsonpath={.metadata.ownerReferences[0].kind}',
  ]);
  narrator.claim(
    'it owns a NetworkAttachmentDefinition, which Multus attaches pods by',
    owner === 'Network',
    owner,
  );
  const { stdout: config } = await show(stage, ['get', NAD, '-o', 'jsonpath={.spec.config}']);
  narrator.claim(
    'of its range and gateway',
    config.includes('"192.168.0.0/16"') && config.includes('"192.168.0.1"'),
  );
}

async function update(stage: Stage): Promise<void> {
  const { narrator } = stage;
  narrator.heading('An update of it');
  await show(stage, ['patch', NETWORK, '--type=merge', '-p', '{"spec":{"gateway":"192.168.0.254"}}']);
  await quietly(stage, ['wait', '--for=jsonpath={.status.observedGeneration}=2', NETWORK, '--timeout=30s']);
  await show(stage, ['get', 'network']);
  const { stdout: config } = await show(stage, ['get', NAD, '-o', 'jsonpath={.spec.config}']);
  narrator.claim('reaches the NetworkAttachmentDefinition', config.includes('"192.168.0.254"'), config);
}

async function refuse(stage: Stage): Promise<void> {
  const { narrator } = stage;
  narrator.heading('A Network that cannot be');
  const { code, stderr } = await show(stage, ['apply', '-f', 'deploy/examples/bad-network.yaml']);
  narrator.claim('is refused', code !== 0);
  narrator.claim('with the fault by its name', stderr.includes('spec.gateway'), stderr);
}

async function remove(stage: Stage): Promise<void> {
  const { narrator, controlPlane } = stage;
  narrator.heading('Its deletion');
  await show(stage, ['delete', NETWORK, '--timeout=30s']);
  const { stdout: networks } = await controlPlane.kubectl(['get', 'network', '-o', 'name']);
  narrator.claim('leaves no Network', networks === '', networks);
  await quietly(stage, ['wait', '--for=delete', NAD, '--timeout=30s']);
  const { stdout: nads } = await show(stage, ['get', 'network-attachment-definitions', '-o', 'name']);
  narrator.claim('and no NetworkAttachmentDefinition', nads === '', nads);
}

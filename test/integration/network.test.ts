import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ControlPlane } from '../../hack/control-plane/control-plane.ts';
import { projectDirectory } from '../../hack/control-plane/project-directory.ts';
import { startControlPlane } from '../../hack/control-plane/start.ts';
import { type NetworkOperator, startNetworkOperator } from '../support/network-operator.ts';

jest.setTimeout(60_000);

let controlPlane: ControlPlane;
let operator: NetworkOperator;
let namespace: string;

beforeAll(async () => {
  controlPlane = await startControlPlane({ auditLog: 'Metadata' });
  await kubectl('apply', '-f', join(projectDirectory(), 'crd/networks.yaml'));
  await kubectl('apply', '-f', join(projectDirectory(), 'hack/control-plane/network-attachment-definition-crd.yaml'));
  await kubectl('wait', '--for=condition=Established', 'crd', '--all');
  operator = await startNetworkOperator(controlPlane);
}, 600_000);

afterAll(async () => {
  await operator?.stop();
  await controlPlane?.stop();
});

test('a Network becomes Ready with its NAD', async () => {
  await kubectl('create', 'namespace', 'one');
  await apply('one', 'example-network', { cidr: '192.168.0.0/16', gateway: '192.168.0.1' });
  await kubectl('-n', 'one', 'wait', '--for=condition=Ready', 'network/example-network', '--timeout=20s');
  console.log(await kubectl('-n', 'one', 'get', 'network', '-o', 'wide'));
  console.log(await kubectl('-n', 'one', 'get', 'network', 'example-network', '-o', 'yaml', '--show-managed-fields'));
  console.log(await kubectl('-n', 'one', 'get', 'net-attach-def', '-o', 'yaml'));
  console.log(await writes('one'), operator.reasonsFor('one/example-network'));
  await kubectl('-n', 'one', 'patch', 'network', 'example-network', '--type=merge', '-p', '{"spec":{"gateway":"192.168.0.254"}}');
  await pause(500);
  console.log(await writes('one'), operator.reasonsFor('one/example-network'));
  await kubectl('-n', 'one', 'delete', 'network', 'example-network', '--timeout=20s');
  console.log(await writes('one'), operator.reasonsFor('one/example-network'));
});

async function apply(namespace: string, name: string, spec: object): Promise<void> {
  const object = { apiVersion: 'samplecrd.k8s.io/v1', kind: 'Network', metadata: { name, namespace }, spec };
  await kubectlWith(JSON.stringify(object), 'apply', '-f', '-');
}

async function kubectl(...args: readonly string[]): Promise<string> {
  return kubectlWith('', ...args);
}

async function kubectlWith(input: string, ...args: readonly string[]): Promise<string> {
  const { stdout, stderr, code } = await controlPlane.kubectl(args, { input });
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

async function writes(namespace: string): Promise<readonly string[]> {
  const lines = (await readFile(controlPlane.auditLogPath, 'utf8')).trim().split('\n');
  return lines
    .map((line) => JSON.parse(line))
    .filter((e) => e.userAgent === 'envoy-initializer' && e.objectRef?.namespace === namespace && !['get', 'list', 'watch'].includes(e.verb))
    .map((e) => `${e.verb} ${e.objectRef.resource}${e.objectRef.subresource ? `/${e.objectRef.subresource}` : ''} ${e.responseStatus?.code}`);
}

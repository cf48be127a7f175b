import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ControlPlane } from '../env/control-plane/control-plane.ts';
import { startControlPlane } from '../env/control-plane/start.ts';
import { eventually } from '../env/eventually.ts';
import { commandsOf, documents, section } from '../support/markdown.ts';
import { type OperatorFixture, startOperatorFixture } from '../support/operator-fixture.ts';
import { isAsPrinted, Reader } from '../support/reader.ts';

const textOf = (path: string) => documents().find((document) => document.path === path)?.text ?? '';

/** Commands that only look: who has typed too early types them again. */
const LOOKING = /^kubectl (get|events|wait) /;

/**
 * Types all commands of a section in their order, `between` after the first; each has to print what the document says, or
 * to work where that says nothing.
 */
async function follow(
  reader: Reader,
  path: string,
  heading: string,
  between: () => Promise<void> = async () => {},
): Promise<void> {
  const commands = commandsOf(section(textOf(path), heading));
  expect(commands.length).toBeGreaterThan(0);
  for (const [i, { command, output }] of commands.entries()) {
    if (i === 1) await between();
    const expected = [`$ ${command}`, ...output].join('\n');
    let seen = '';
    const attempt = async () => {
      const { stdout, code } = await reader.type(command);
      const isRight = output.length === 0 ? code === 0 : isAsPrinted(output, stdout);
      seen = isRight ? expected : `$ ${command}\n${stdout}(exit code ${code})`;
      return isRight;
    };
    if (LOOKING.test(command)) await eventually(expected, attempt).catch(() => {});
    else await attempt();
    expect(seen).toBe(expected);
  }
}

describe('beside an operator', () => {
  let fixture: OperatorFixture;
  let reader: Reader;
  beforeAll(async () => {
    fixture = await startOperatorFixture();
    reader = await Reader.at(fixture.controlPlane);
    await defaultServiceAccount(fixture.controlPlane);
  });
  afterAll(() => fixture?.stop());

  test('README.md: what happens', async () => {
    await follow(reader, 'README.md', '## What happens');
    await fixture.kubectl('delete', 'network/example-network', 'pod/myapp-pod', '--now');
  });

  test('docs/networks.md: a walk', async () => {
    await follow(reader, 'docs/networks.md', '## A walk');
  });

  test.each(['## inject', '## uninject'])('docs/cli.md: %s', (heading) =>
    follow(reader, 'docs/cli.md', heading),
  );

  test('docs/envoy.md: deploy/envoy', () => follow(reader, 'docs/envoy.md', '# Configure Envoy'));

  test.each([
    ['network.spec', '## The spec'],
    ['network.status', '## The status'],
  ])('kubectl explain %s has the fields of docs/networks.md', async (what, heading) => {
    const explained = await fixture.kubectl('explain', what);
    const rows = section(textOf('docs/networks.md'), heading).matchAll(/^\| (`.+?) \|/gm);
    const fields = [...rows].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`.]+)[^`]*`/g)].map(([, field = '']) => field),
    );
    expect(fields.length).toBeGreaterThan(3);
    expect(fields.filter((field) => !new RegExp(`^ +${field}\\t`, 'm').test(explained))).toEqual([]);
  });
});

describe('with no operator', () => {
  let controlPlane: ControlPlane;
  let reader: Reader;
  beforeAll(async () => {
    controlPlane = await startControlPlane();
    reader = await Reader.at(controlPlane);
    await defaultServiceAccount(controlPlane);
  });
  afterAll(() => controlPlane?.stop());

  test('docs/admission-policy.md: without the operator', async () => {
    const optIn = 'initializer.kubernetes.io/envoy';
    const pod = (...how: readonly string[]) =>
      controlPlane.kubectl(['run', 'asked', '--image=busybox', '--dry-run=server', '-o', 'yaml', ...how]);
    // The API server takes up policies that change pods and those that warn each in its own time.
    const inEffect = async () => {
      const injected = await pod(`--labels=${optIn}=true`);
      const warned = await pod(`--annotations=${optIn}=true`, `--annotations=${optIn}-image=mine`);
      return injected.stdout.includes('name: envoy\n') && warned.stderr.includes('no sidecar');
    };
    await follow(reader, 'docs/admission-policy.md', '## Without the operator', () =>
      eventually('the policies are in effect', inEffect),
    );
  });

  const directories = [
    ...new Set(
      documents()
        .flatMap(({ text }) => commandsOf(text))
        .flatMap(({ command }) => /^kubectl apply -k (\S+)/.exec(command)?.[1] ?? []),
    ),
  ];

  test.each(directories)('kubectl apply -k %s is taken by the API server', async (directory) => {
    await reader.type('kubectl create namespace monitoring');
    const namespace = directory === 'deploy/monitoring' ? '--namespace=monitoring' : '';
    const { code, stdout } = await reader.type(`kubectl apply -k ${directory} ${namespace}`);
    expect({ code, stdout }).toMatchObject({ code: 0 });
  });

  test('docs/install.md: what is there is what is in deploy/', async () => {
    await reader.type('kubectl apply -k deploy/overlays/default');
    expect(await reader.type('kubectl diff -k deploy/overlays/default')).toMatchObject({
      code: 0,
      stdout: '',
    });
  });
});

/** Pods are admitted once the controller-manager has made it. */
async function defaultServiceAccount(controlPlane: ControlPlane): Promise<void> {
  const args = ['wait', '--for=create', 'serviceaccount/default', '--timeout=30s'];
  if (controlPlane.hasControllerManager) await controlPlane.kubectl(args);
}

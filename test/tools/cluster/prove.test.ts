import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { OwnImageError } from '../../env/cluster/images/operator.ts';
import { type ProofSteps, proveCluster } from '../../env/cluster/prove.ts';

const FINE = { code: 0, stdout: '', stderr: '' };
const NOBODY = 65_534;

describe('a proof that this machine can run a cluster', () => {
  let done: string[];
  let answers: { readonly code: number; readonly stdout: string; readonly stderr: string }[];
  const steps = (more: Partial<ProofSteps> = {}): ProofSteps => ({
    obstacle: async () => undefined,
    async start() {
      done.push('start');
      return {
        async kubectl([verb]) {
          done.push(`kubectl ${verb}`);
          return answers.shift() ?? FINE;
        },
        async stop() {
          done.push('stop');
        },
      };
    },
    async prepare() {
      done.push('prepare');
    },
    ...more,
  });
  const prove = (more?: Partial<ProofSteps>) => proveCluster({ write: () => true }, steps(more));

  beforeEach(() => {
    done = [];
    answers = [];
  });

  test('is a pod that has run, and all images', async () => {
    expect(await prove()).toBeUndefined();
    expect(done).toEqual(['start', 'kubectl run', 'kubectl wait', 'stop', 'prepare']);
  });

  test('is not tried where it is known that there can be none', async () => {
    expect(await prove({ obstacle: async () => 'a node needs root' })).toBe('a node needs root');
    expect(done).toEqual([]);
  });

  test.each<[string, (err: Error) => Partial<ProofSteps>]>([
    ['a cluster that does not start', (err) => ({ start: () => Promise.reject(err) })],
    ['an image that cannot be had', (err) => ({ prepare: () => Promise.reject(err) })],
  ])('finds an obstacle in %s', async (_, failing) => {
    expect(await prove(failing(new Error('mount: no overlay')))).toBe('mount: no overlay');
  });

  test('finds an obstacle in a pod that does not run, says what the node says of it, and ends the cluster', async () => {
    answers = [FINE, { code: 1, stdout: '', stderr: 'timed out\n' }, { ...FINE, stdout: 'Events: none\n' }];
    expect(await prove()).toBe('the node runs no pod: timed out\nEvents: none');
    expect(done.at(-1)).toBe('stop');
  });

  test('fails where our own sources make no image: no machine is at fault then', async () => {
    const fault = new OwnImageError('tsc: 1 error');
    await expect(prove({ prepare: () => Promise.reject(fault) })).rejects.toBe(fault);
  });
});

/** What `make e2e` asks first, by somebody who is not root. */
async function askAsNobody(env: Readonly<Record<string, string>>) {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, ['test/env/cluster/cli.ts', 'prove'], {
    env: { PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(process.getuid?.() === 0 && { uid: NOBODY, gid: NOBODY }),
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, stdout, stderr };
}

describe('make e2e, where there can be no node', () => {
  test('is told why in a line, says so loudly, and does not fail', async () => {
    const { code, stdout, stderr } = await askAsNobody({});
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^a node needs .+\n$/) });
    expect(stderr).toContain(`NO TESTS ON A REAL NODE, since there can be none here:\n${stdout}!!!`);
  });

  test('fails where E2E_REQUIRED says that there must be one', async () => {
    expect((await askAsNobody({ E2E_REQUIRED: '1' })).code).toBe(1);
  });

  test('asks for no node where E2E_KUBECONFIG names a cluster', async () => {
    expect(await askAsNobody({ E2E_KUBECONFIG: '/kind' })).toEqual({
      code: 0,
      stdout: '',
      stderr: 'no node of our own: tests run on E2E_KUBECONFIG=/kind\n',
    });
  });
});

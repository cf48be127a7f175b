import { expect, test } from '@jest/globals';
import { faultsOf, figures, readReport } from '../../judge/verdict.ts';

const spec = (text: string, state: string, namespace: string) => ({
  ContainerHierarchyTexts: ['[sig-node] Pods'],
  LeafNodeType: 'It',
  LeafNodeText: text,
  State: state,
  RunTime: 2_400_000_000,
  ...(state === 'failed' && { Failure: { Message: 'no answer\nat all' } }),
  SpecEvents: [{ Message: `Destroying namespace "${namespace}" for this suite.` }],
});
const report = (...specs: readonly object[]) => JSON.stringify([{ SpecReports: specs }]);
const pods = new Map([
  ['pods-1/a', true],
  ['pods-1/b', false],
  ['pods-10/c', true],
]);

test('a report of the judge has the tests that ran, each with its own pods', () => {
  const setup = { ...spec('', 'passed', 'pods-1'), LeafNodeType: 'SynchronizedBeforeSuite' };
  const read = readReport(
    report(
      spec('run', 'failed', 'pods-1'),
      spec('wait', 'timedout', 'pods-2'),
      spec('no', 'skipped', ''),
      setup,
    ),
    pods,
  );
  const run = { name: '[sig-node] Pods run', state: 'failed', seconds: 2, message: 'no answer\nat all' };
  const wait = { name: '[sig-node] Pods wait', state: 'cut off', seconds: 2, message: '' };
  expect(read).toEqual([
    { ...run, pods: 2, injected: 1 },
    { ...wait, pods: 0, injected: 0 },
  ]);
  expect(figures('default', read)).toBe(
    'default: 2 tests, 0 passed, 1 failed, 1 cut off, 1 of 2 pods injected, 0 passed with injected pods, 4 s in tests',
  );
});

test('the judge holds against the sidecar only what passes without it', () => {
  const read = (...states: readonly string[]) =>
    readReport(report(...states.map((state, index) => spec(`test ${index}`, state, ''))), pods);
  const faults = faultsOf(read('passed', 'failed', 'passed'), read('failed', 'failed', 'passed'));
  expect(faults.map(({ name }) => name)).toEqual(['[sig-node] Pods test 0']);
});

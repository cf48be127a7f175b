import { describe, expect, test } from '@jest/globals';
import { formatReport } from '../../../../src/cli/check/check-report.ts';
import { runCli } from '../../../../src/program.ts';
import { MemoryTerminal } from '../../../support/cli/memory-terminal.ts';
import { DEMO_TEMPLATE, OPT_IN } from '../../../support/injection/demo.ts';

const deployment = (name: string, own: string, pod: string, more = '') => `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, labels: {${own}}}
spec:
  template:
    metadata: {labels: {${pod}}}
    spec: {containers: [{name: app, image: app}]${more}}
`;
const YES = `${OPT_IN}: "true"`;
const namespaceThatSelects = (templates: string) =>
  `apiVersion: v1\nkind: Namespace\nmetadata: {name: default, annotations: {${OPT_IN}-templates: ${templates}}}\n`;

async function check(manifests: string, ...args: readonly string[]) {
  const terminal = new MemoryTerminal({ 'web.yaml': manifests, 'template.yaml': DEMO_TEMPLATE });
  const argv = [
    'node',
    'envoy-initializer',
    'check',
    '-f',
    'web.yaml',
    '--template',
    'template.yaml',
    ...args,
  ];
  const code = await runCli(argv, terminal);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

test('formatReport names the first pods and counts the others', () => {
  const pods = Array.from({ length: 14 }, (_, i) => {
    return { name: `web-${i}`, sidecar: i < 12 ? ('current' as const) : ('absent' as const) };
  });
  const lines = formatReport({
    object: 'deployment/web',
    namespace: 'default',
    decision: 'inject',
    askedBy: 'the annotation x of the pod',
    because: [],
    templates: [],
    pods,
    findings: [],
  });
  expect(lines.slice(3)).toEqual([
    '  pods      web-0: current',
    ...[1, 2, 3, 4, 5, 6, 7, 8].map((i) => `            web-${i}: current`),
    '            and 3 more: current',
    '            and 2 more: absent',
    '  no problems found',
  ]);
});

describe('check of a file without a cluster', () => {
  test.each<[string, string, object]>([
    [
      'injects a workload with an opt-in',
      deployment('web', '', YES),
      { code: 0, decision: 'inject', reasons: [] },
    ],
    [
      'skips a workload without an opt-in',
      deployment('web', '', ''),
      { code: 0, decision: 'skip', reasons: [] },
    ],
    [
      'skips a workload that opts out',
      deployment('web', '', `${OPT_IN}: "false"`),
      { code: 0, decision: 'skip', reasons: [] },
    ],
    [
      'reports a mistyped value',
      deployment('web', '', `${OPT_IN}: "yes"`),
      { code: 1, decision: 'skip', reasons: ['invalid-value'] },
    ],
    [
      'reports a value without quotes',
      deployment('web', '', `${OPT_IN}: true`),
      { code: 1, decision: 'skip', reasons: ['opt-in-mistake'] },
    ],
    [
      'reports a label on the workload itself',
      deployment('web', YES, ''),
      { code: 1, decision: 'skip', reasons: ['opt-in-mistake'] },
    ],
    [
      'reports a conflict',
      deployment('web', '', YES, ', volumes: [{name: envoy-conf, emptyDir: {}}]'),
      { code: 1, decision: 'skip', reasons: ['conflict'] },
    ],
    [
      'injects a workload if its namespace in the file opts in',
      `apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {${YES}}}\n${deployment('web', '', '')}`,
      { code: 0, decision: 'inject', reasons: [] },
    ],
    [
      'reports a template that the namespace in the file selects and nobody wrote',
      `${namespaceThatSelects('nope')}${deployment('web', '', YES)}`,
      { code: 1, decision: 'skip', reasons: ['unknown-template'] },
    ],
    [
      'reports a container to be merged with one that the template does not have',
      deployment('web', '', YES, ', initContainers: [{name: envoi, image: auto}]'),
      { code: 1, decision: 'inject', reasons: ['invalid-override'] },
    ],
  ])('%s', async (_, manifests, expected) => {
    const { code, stdout } = await check(manifests, '-o', 'json');
    const [{ decision, findings, object }] = JSON.parse(stdout);
    const reasons = findings.map(({ reason }: { reason: string }) => reason);
    expect({ code, decision, reasons }).toEqual(expected);
    expect(object).toBe('deployment/web');
  });

  describe('of pods that have a sidecar, as the webhook sees them', () => {
    async function injected(template: string): Promise<string> {
      const terminal = new MemoryTerminal({
        'web.yaml': deployment('web', '', YES),
        'template.yaml': template,
      });
      const argv = ['node', 'envoy-initializer', 'inject', '-f', 'web.yaml', '--template', 'template.yaml'];
      expect(await runCli(argv, terminal)).toBe(0);
      return terminal.stdout;
    }

    test('the current one stays', async () => {
      expect(await check(await injected(DEMO_TEMPLATE))).toEqual({
        code: 0,
        stderr: '',
        stdout: `\
deployment/web in namespace default
  decision  with the sidecar that it has (already-injected)
  opt-in    the label ${OPT_IN} of the pod
            the pod already has what the template adds
  no problems found
`,
      });
    });

    test('an old one stays, which is a finding', async () => {
      const { code, stdout } = await check(await injected(DEMO_TEMPLATE.replace('512Mi', '256Mi')));
      expect({ code, stdout }).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(
          /! container-exists: the pod has container envoy from an earlier injection/,
        ),
      });
    });
  });

  test('returns 2 for a file without pods', async () => {
    expect(await check('apiVersion: v1\nkind: Service\n')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: the files contain no pod or workload: use a file that has one\n',
    });
  });
});

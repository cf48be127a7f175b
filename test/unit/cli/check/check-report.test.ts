import { expect, test } from '@jest/globals';
import { formatReport } from '../../../../src/cli/check/check-report.ts';

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

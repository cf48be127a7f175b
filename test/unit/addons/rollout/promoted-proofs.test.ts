import { expect, test } from '@jest/globals';
import type { Revision, Revisions } from '../../../../src/addons/rollout/core/revision.ts';
import { PromotedProofs } from '../../../../src/addons/rollout/promoted-proofs.ts';
import { POD_SHAPES } from '../../../../src/injection/template/pod-shapes.ts';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import { templateSet } from '../../../support/injection/demo.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { untilTrue } from '../../../support/time/until-true.ts';

const PROMOTED = templateSet({ config: 'containers: [{name: envoy, image: "i:v1"}]' });
const incompatibleShapesOf = (set: TemplateSet) =>
  [...set.templates.values()].flatMap(({ incompatibleShapes }) => incompatibleShapes);

test('promoted templates are proved again if they could not be, and after an upgrade', async () => {
  const [shape] = POD_SHAPES;
  if (!shape) throw new Error('expected a shape');
  const revision = { set: PROMOTED } as Revision;
  const revisions = { promoted: revision, target: { ...revision } } as Revisions;
  const { log, lines } = capturedLog();
  let [proofs, isAway, changes, misfit] = [0, true, 0, 'no'];
  const promoted = new PromotedProofs({
    history: { current: () => revisions, objectOf: () => undefined },
    dryRun: {
      async prove(set) {
        proofs += 1;
        if (isAway) return { set, inconclusive: ['no answer'] };
        const templates = new Map(
          [...set.templates].map(([name, each]) => [
            name,
            { ...each, incompatibleShapes: [{ shape, message: misfit }] },
          ]),
        );
        return { set: { ...set, templates }, inconclusive: [] };
      },
    },
    log,
    onProved() {
      changes += 1;
      promoted.changed();
    },
    retryMs: 1,
  });
  const stop = new AbortController();
  const running = promoted.run(stop.signal);
  await untilTrue(async () => proofs > 3);
  expect([changes, incompatibleShapesOf(promoted.setOf(revision))]).toEqual([1, []]);
  isAway = false;
  await untilTrue(async () => changes === 2);
  expect(incompatibleShapesOf(promoted.setOf(revision))).toHaveLength(1);
  promoted.changed();
  const before = proofs;
  misfit = 'not by a newer server';
  promoted.again();
  await untilTrue(async () => changes === 3);
  expect([proofs, incompatibleShapesOf(promoted.setOf(revision))]).toEqual([
    before + 1,
    [{ shape, message: misfit }],
  ]);
  stop.abort();
  await running;
  expect(lines[0]).toMatchObject({ err: { message: 'no answer' } });
});

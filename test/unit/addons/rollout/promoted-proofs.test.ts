import { expect, test } from '@jest/globals';
import type { Revision, Revisions } from '../../../../src/addons/rollout/plan/revision.ts';
import { promotedProofs } from '../../../../src/addons/rollout/revision-history.ts';
import { POD_SHAPES } from '../../../../src/injection/template/pod-shapes.ts';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import { templateSet } from '../../../support/injection/demo.ts';

const PROMOTED = templateSet({ config: 'containers: [{name: envoy, image: "i:v1"}]' });
const incompatibleShapesOf = (set: TemplateSet) =>
  [...set.templates.values()].flatMap(({ incompatibleShapes }) => incompatibleShapes);

test('promoted templates are proved again if they could not be, and after an upgrade', async () => {
  const [shape] = POD_SHAPES;
  if (!shape) throw new Error('expected a shape');
  const revision = { set: PROMOTED } as Revision;
  const revisions = { promoted: revision, target: { ...revision } } as Revisions;
  let [proofs, isAway, changes, misfit] = [0, true, 0, 'no'];
  const promoted = promotedProofs(
    { current: () => revisions },
    {
      async prove(set) {
        proofs += 1;
        if (isAway) return { set, faults: [], inconclusive: ['no answer'] };
        const templates = new Map(
          [...set.templates].map(([name, each]) => [
            name,
            { ...each, incompatibleShapes: [{ shape, message: misfit }] },
          ]),
        );
        return { set: { ...set, templates }, faults: [], inconclusive: [] };
      },
    },
    () => (changes += 1),
  );
  const prove = () => promoted.prove(AbortSignal.timeout(10_000));
  for (let i = 0; i < 3; i++) await expect(prove()).rejects.toThrow('no answer');
  expect([changes, incompatibleShapesOf(promoted.setOf(revision))]).toEqual([1, []]);
  isAway = false;
  await prove();
  await prove();
  expect([proofs, changes]).toEqual([4, 2]);
  expect(incompatibleShapesOf(promoted.setOf(revision))).toHaveLength(1);
  misfit = 'not by a newer server';
  promoted.again();
  await prove();
  expect([proofs, changes, incompatibleShapesOf(promoted.setOf(revision))]).toEqual([
    5,
    3,
    [{ shape, message: misfit }],
  ]);
});

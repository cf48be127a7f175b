import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { inject } from '../../../src/injection/inject.ts';
import type { JsonObject, JsonValue } from '../../../src/util/json.ts';
import { anything, pods, record, states } from '../../support/injection/arbitrary-pods.ts';
import { decideInput, OPT_IN, templateSet } from '../../support/injection/demo.ts';
import { injectChecked, specOf } from '../../support/injection/inject-checked.ts';

/** The pod in a namespace that opts in. */
const input = (pod: JsonObject, state: { set: ReturnType<typeof templateSet> }) =>
  decideInput(pod, { state, namespaceLabels: { [OPT_IN]: 'true' } });

const byName = (list: JsonValue | undefined) =>
  new Map((Array.isArray(list) ? (list as readonly JsonObject[]) : []).map((item) => [item.name, item]));

describe('for every pod and template', () => {
  test('the patch fits, a second implementation agrees, and a second pass changes nothing', () => {
    let injected = 0;
    fc.assert(
      fc.property(pods, states, (pod, state) => {
        if (inject(input(pod, state)).outcome !== 'injected') return;
        injectChecked(input(pod, state));
        injected += 1;
      }),
      { numRuns: 300 },
    );
    expect(injected).toBeGreaterThan(50);
  });

  test("the pod's own containers keep their order and content, apart from the template's additions", () => {
    fc.assert(
      fc.property(pods, states, (pod, state) => {
        const result = inject(input(pod, state));
        if (result.outcome !== 'injected') return;
        const own = (specOf(pod).containers as readonly JsonObject[]).filter(({ image }) => image !== 'auto');
        const after = byName(specOf(result.pod).containers);
        for (const before of own) {
          const { env: _env, volumeMounts: _mounts, ...rest } = after.get(before.name) ?? {};
          const { env: _ownEnv, volumeMounts: _ownMounts, ...ownRest } = before;
          expect(rest).toEqual(ownRest);
        }
        expect([...after.keys()].filter((key) => own.some(({ name: n }) => n === key))).toEqual(
          own.map(({ name: n }) => n),
        );
      }),
    );
  });

  test('unknown fields survive', () => {
    fc.assert(
      fc.property(pods, states, (pod, state) => {
        const result = inject(input(pod, state));
        if (result.outcome !== 'injected') return;
        expect(specOf(result.pod).odd).toBe(specOf(pod).odd);
        expect(JSON.stringify(result.pod.status)).toBe(JSON.stringify(pod.status));
      }),
    );
  });

  test('the number of operations depends on the template alone, not on the size of the pod', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 3 }), (variables, count) => {
        const env = Array.from({ length: variables }, (_, i) => ({ name: `K${i}`, value: 'v' }));
        const own = Array.from({ length: count }, (_, i) => ({ name: `app-${i}`, image: 'a', env }));
        const { operations } = injectChecked(
          input({ metadata: {}, spec: { containers: own } }, { set: templateSet() }),
        );
        expect(operations).toHaveLength(3);
      }),
      { numRuns: 8 },
    );
  });

  test('any pod is skipped or injected, and never throws', () => {
    fc.assert(
      fc.property(record(anything), record(anything), record(anything), (root, metadata, spec) => {
        const pod = { ...root, metadata, spec };
        expect(['injected', 'skipped']).toContain(inject(input(pod, { set: templateSet() })).outcome);
      }),
    );
  });
});

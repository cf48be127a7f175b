import { describe, expect, test } from '@jest/globals';
import { inject } from '../../../../src/injection/inject.ts';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import { answerByClass } from '../../../../src/injection/webhook/class-answers.ts';
import { answerTo, toAdmissionAnswer } from '../../../../src/injection/webhook/injection-answer.ts';
import { formatReview } from '../../../../src/kube/admission/response.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { decideInput, demoPod, podWith, templateSet } from '../../../support/injection/demo.ts';
import { WIDE_TEMPLATE } from '../../../support/injection/near-pods.ts';

const { options, state: _, ...rest } = decideInput(demoPod());
const inputOf = (pod: JsonObject, set: TemplateSet) => ({ ...rest, pod, state: { set } });

/** Pods of many classes: each has another choice of empty lists and maps. */
const FIELDS = [
  'initContainers',
  'volumes',
  'imagePullSecrets',
  'hostAliases',
  'securityContext',
  'dnsConfig',
];
const ofClass = (number: number): JsonObject =>
  podWith({
    restartPolicy: number >= 2 ** FIELDS.length ? 'Never' : 'Always',
    ...Object.fromEntries(
      FIELDS.filter((_, bit) => number & (2 ** bit)).map((field) => [
        field,
        /Context|Config/.test(field) ? {} : [],
      ]),
    ),
  });

describe('an answer by class', () => {
  const setUp = () => {
    const [answer, set] = [answerByClass(options), templateSet({ config: WIDE_TEMPLATE })];
    return (pod: JsonObject, of = set) => answer(inputOf(pod, of));
  };

  test('has the bytes of the answer of the full way, for the first pod and for later ones', () => {
    const answer = setUp();
    const other = podWith({ containers: [{ name: 'other', image: 'i' }], nodeName: 'n' });
    const set = templateSet({ config: WIDE_TEMPLATE });
    for (const pod of [demoPod(), other]) {
      const full = answerTo(inject({ ...inputOf(pod, set), options }));
      expect(formatReview('u', toAdmissionAnswer(answer(pod)))).toBe(
        formatReview('u', toAdmissionAnswer(full)),
      );
    }
    expect(answer(other)).toBe(answer(demoPod()));
  });

  test('is not that of earlier templates', () => {
    const answer = setUp();
    const other = templateSet({ config: WIDE_TEMPLATE });
    expect(answer(demoPod(), other)).not.toBe(answer(demoPod()));
    expect(answer(demoPod(), other)).toBe(answer(demoPod(), other));
  });

  test('is not remembered if the pod stays unchanged', () => {
    const answer = setUp();
    const hostNetwork = podWith({ hostNetwork: true });
    expect(answer(hostNetwork)).toMatchObject({ decision: 'skipped' });
    expect(answer(hostNetwork)).not.toBe(answer(hostNetwork));
  });

  test('is remembered for 64 classes', () => {
    const answer = setUp();
    const all = Array.from({ length: 64 }, (_, number) => answer(ofClass(number)));
    expect(new Set(all).size).toBe(64);
    expect(all.map((_, number) => answer(ofClass(number)) === all[number])).not.toContain(false);
  });

  test('is remembered for a class that comes late, in place of the oldest', () => {
    const answer = setUp();
    const [oldest, second] = [answer(ofClass(0)), answer(ofClass(1))];
    for (let number = 2; number < 64; number += 1) answer(ofClass(number));
    const late = answer(ofClass(64));
    expect(answer(ofClass(64))).toBe(late);
    expect(answer(ofClass(1))).toBe(second);
    expect(answer(ofClass(0))).not.toBe(oldest);
  });
});

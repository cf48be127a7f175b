import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { parseReview } from '../../../../src/kube/admission/review.ts';
import {
  type AttachResult,
  createAttachHandler,
  createWorkloadAttachHandler,
} from '../../../../src/networks/pods/webhook.ts';

const review = (operation: string) =>
  parseReview({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: '1',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      operation,
      namespace: 'red',
      object: { metadata: { generateName: 'p-' } },
    },
  });

const refused = { outcome: 'refused', message: 'no' } as const;
const attached = {
  outcome: 'attached',
  operations: [{ op: 'remove', path: '/x' }],
  warnings: ['hm'],
} as const;

function handled(operation: string, cached: AttachResult, fresh?: AttachResult) {
  const asked: boolean[] = [];
  const handler = createAttachHandler({
    attach: async (_pod, _namespace, options) => {
      asked.push(options.fresh);
      return options.fresh && fresh ? fresh : cached;
    },
    log: pino({ level: 'silent' }),
  });
  const verdict = handler(review(operation), () => new AbortController().signal);
  return verdict.then((answer) => ({ answer, asked }));
}

test('the webhook attaches a pod with the cached Networks', async () => {
  const { answer, asked } = await handled('CREATE', attached);
  expect(answer).toEqual({ allowed: true, operations: attached.operations, warnings: ['hm'] });
  expect(asked).toEqual([false]);
});

test('the webhook reads from the API server before it refuses a pod', async () => {
  expect((await handled('CREATE', refused, attached)).answer).toMatchObject({ allowed: true });
  const { answer } = await handled('CREATE', refused, { ...refused, message: 'really' });
  expect(answer).toEqual({ allowed: false, code: 403, message: 'really' });
});

test('the webhook allows everything other than the creation of a pod', async () => {
  expect(await handled('UPDATE', refused)).toEqual({ answer: { allowed: true }, asked: [] });
});

test('the author of a workload is warned that its pods would be refused', async () => {
  const object = {
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    spec: { template: { metadata: { name: 't' } } },
  };
  const signal = () => new AbortController().signal;
  const asked = { ...review('UPDATE'), object };
  const warned = (result: AttachResult) => createWorkloadAttachHandler(async () => result)(asked, signal);
  const warnings = ['pods of this workload are refused: no'];
  expect(await warned(refused)).toEqual({ allowed: true, warnings });
  expect(await warned(attached)).toEqual({ allowed: true, warnings: [] });
});

test('the webhook returns a warning', async () => {
  const { answer } = await handled('CREATE', { outcome: 'untouched', warning: 'mind' });
  expect(answer).toEqual({ allowed: true, warnings: ['mind'] });
});

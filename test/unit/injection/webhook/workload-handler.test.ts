import { expect, test } from '@jest/globals';
import { keysFor } from '../../../../src/injection/keys.ts';
import { createWorkloadHandler } from '../../../../src/injection/webhook/inject-handler.ts';
import { podRequest } from '../../../support/injection/admission-review.ts';
import { OPT_IN, templateSet } from '../../../support/injection/demo.ts';

// What it says of the pods of workloads: test/integration/injection/injection.test.ts.
test.each([
  ['config', []],
  [
    'confg',
    [
      `pods of this namespace get no sidecar: unknown-template: the namespace's annotation ${OPT_IN}-templates names template "confg", which does not exist: use another, or add it to the ConfigMap`,
    ],
  ],
])('warns the author of a Namespace that selects the template %s', async (selected, warnings) => {
  const handler = createWorkloadHandler({
    decideOptions: { keys: keysFor(), requireAnnotation: true, operatorNamespace: 'operator' },
    templates: () => ({ set: templateSet() }),
    namespaceSettings: async () => ({ namespaceLabels: {} }),
  });
  const object = { metadata: { name: 'new', annotations: { [`${OPT_IN}-templates`]: selected } } };
  const review = podRequest({ kind: { group: '', version: 'v1', kind: 'Namespace' }, object });
  expect(await handler(review, () => new AbortController().signal)).toEqual({ allowed: true, warnings });
});

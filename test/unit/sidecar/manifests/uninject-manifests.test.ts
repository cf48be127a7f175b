import { expect, test } from '@jest/globals';
import { keysFor } from '../../../../src/sidecar/keys.ts';
import { injectManifests } from '../../../../src/sidecar/manifests/inject-manifests.ts';
import { uninjectManifests } from '../../../../src/sidecar/manifests/uninject-manifests.ts';
import { MANIFEST_OPTIONS } from '../../../support/demo.ts';
import { ODD_JSON, ODD_YAML } from '../../../support/reading-corpus.ts';

test.each([...ODD_YAML, ...ODD_JSON])('gives the text back: %s', (_, text) => {
  const { text: injected, results } = injectManifests(text, MANIFEST_OPTIONS);
  expect(results.map(({ injection }) => injection.outcome)).toContain('injected');
  expect(injected).not.toBe(text);
  expect(uninjectManifests(injected, keysFor(), []).text).toBe(text);
});

import { expect, test } from '@jest/globals';
import { keysFor } from '../../../../src/injection/keys.ts';
import { injectManifests, uninjectManifests } from '../../../../src/injection/manifests/manifests.ts';
import { MANIFEST_OPTIONS, OPT_IN, STATUS } from '../../../support/injection/demo.ts';
import { ODD_JSON, ODD_YAML } from '../../../support/injection/reading-corpus.ts';

const POD = `apiVersion: v1\nkind: Pod\nmetadata: {labels: {${OPT_IN}: "true"}}\nspec: {containers: [{name: app, image: app}]}\n`;
const PLAIN = POD.replace('true', 'false');
const GARBAGE = `apiVersion: v1\nkind: Pod\nmetadata: {annotations: {${STATUS}: "{"}}\nspec: {containers: [{name: app}]}\n`;
const INJECTED = injectManifests(POD, MANIFEST_OPTIONS).text;

test.each([...ODD_YAML, ...ODD_JSON])('gives the text back: %s', (_, text) => {
  const { text: injected, results } = injectManifests(text, MANIFEST_OPTIONS);
  expect(results.map(({ injection }) => injection.outcome)).toContain('injected');
  expect(injected).not.toBe(text);
  expect(uninjectManifests(injected, keysFor(), []).text).toBe(text);
});

test.each([
  ['restored', 'was injected', INJECTED, POD],
  ['untouched', 'was not injected', PLAIN, PLAIN],
  ['unreadable', 'has a status that is not valid', GARBAGE, GARBAGE],
])('the outcome is %s for a pod that %s', (outcome, _, text, expected) => {
  const uninjected = uninjectManifests(text, keysFor(), []);
  expect(uninjected.results.map((result) => result.outcome)).toEqual([outcome]);
  expect(uninjected.text).toBe(expected);
});

test('each pod has its own outcome, at its site', () => {
  const { text, results } = uninjectManifests(`${INJECTED}---\n${PLAIN}---\n${GARBAGE}`, keysFor(), []);
  expect(text).toBe(`${POD}---\n${PLAIN}---\n${GARBAGE}`);
  expect(results.map(({ outcome }) => outcome)).toEqual(['restored', 'untouched', 'unreadable']);
  expect(results.map(({ site }) => site.object.kind)).toEqual(['Pod', 'Pod', 'Pod']);
});

test('the pod templates of given kinds are restored', () => {
  const podTemplates = [{ kind: 'Own', group: undefined, path: ['spec'] }];
  const text = `apiVersion: x/v1\nkind: Own\nspec: {metadata: {labels: {${OPT_IN}: "true"}}, spec: {containers: [{name: app, image: app}]}}\n`;
  const injected = injectManifests(text, { ...MANIFEST_OPTIONS, podTemplates }).text;
  expect(uninjectManifests(injected, keysFor(), podTemplates).text).toBe(text);
  expect(uninjectManifests(injected, keysFor(), []).text).toBe(injected);
});

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { POD_SCHEMA } from '../../../src/podspec/schema/pod-schema.ts';
import { INPUTS } from '../../support/growth/all-inputs.ts';

/**
 * Work in proportion to its input does twice as much more from 2n to 4n as from n to 2n; work in proportion to its
 * square does four times as much more. What both have in common drops out, and n log n stays below 2.3.
 */
const MOST = 2.5;
/** Steps that are noise: a list that outgrows what is looked through without an index. */
const NOISE = 500;

describe.each(Object.entries(INPUTS))('the work grows as the input does: %s', (part, inputs) => {
  const measured = new Map<string, readonly number[]>();

  beforeAll(async () => {
    const script = fileURLToPath(import.meta.resolve('../../support/growth/measure.js'));
    const { stdout } = await promisify(execFile)(process.execPath, [script, part], { maxBuffer: 1e8 });
    for (const line of stdout.trim().split('\n')) {
      const { name, steps } = JSON.parse(line) as { readonly name: string; readonly steps: number[] };
      measured.set(name, steps);
    }
  }, 900_000);

  test.each(inputs.map(({ name }) => name))('%s', (name) => {
    const steps = measured.get(name);
    const [first = Number.NaN, second = Number.NaN, third = Number.NaN] = steps ?? [];
    const growth = (third - second) / Math.max(second - first, NOISE);
    expect({ steps, growth, inProportion: growth <= MOST }).toEqual({ steps, growth, inProportion: true });
  });
});

test('each list and each map of the pod schema is measured, in a pod and in a template', () => {
  const sized = Object.entries(POD_SCHEMA).flatMap(([type, fields]) =>
    Object.entries(fields).flatMap(([key, { list, map }]) => (list || map ? [`${type}.${key}`] : [])),
  );
  const names = (part: string) => new Set(INPUTS[part]?.map(({ name }) => name.replace(/^.*: /, '')));
  for (const part of ['fields of a pod', 'fields of a template']) {
    const measured = names(part);
    expect({ part, missing: sized.filter((field) => !measured.has(field)) }).toEqual({ part, missing: [] });
  }
});

test.each(Object.entries(INPUTS))('no two inputs have one name: %s', (_, inputs) => {
  const names = inputs.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

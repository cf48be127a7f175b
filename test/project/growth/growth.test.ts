import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { POD_SCHEMA } from '../../../src/injection/podspec/schema/pod-schema.ts';
import { INPUTS } from '../../support/growth/all-inputs.ts';

/**
 * For linear work, the growth from 2n to 4n is twice the growth from n to 2n. For quadratic work it is four times as much.
 * Constant costs cancel out, and n log n stays below 2.3.
 */
const MOST = 2.5;
/** Code that V8 optimizes inlines functions, and loses their counts. */
const UNOPTIMIZED = ['--no-opt', '--no-maglev'];
/** Steps that are noise: a list that exceeds the limit of a search without an index. */
const NOISE = 500;

describe.each(Object.entries(INPUTS))('the work grows in proportion to the input: %s', (part, inputs) => {
  const measured = new Map<string, readonly number[]>();

  beforeAll(async () => {
    const script = fileURLToPath(import.meta.resolve('../../support/growth/measure.js'));
    const { stdout } = await promisify(execFile)(process.execPath, [...UNOPTIMIZED, script, part], {
      maxBuffer: 1e8,
    });
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

test.each(Object.entries(INPUTS))('the names of inputs are unique: %s', (_, inputs) => {
  const names = inputs.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

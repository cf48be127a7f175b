import { expect, test } from '@jest/globals';
import { growthPlot } from '../../../hack/pictures/growth-plot.ts';

const svg = growthPlot([
  { networks: 1_000, millisecondsEach: 10, residentMb: 100 },
  { networks: 2_000, millisecondsEach: 20, residentMb: 200 },
]);

test('both curves end at the top right where their axes end', () => {
  const ends = [...svg.matchAll(/<polyline points="([^"]+)"/g)].map(([, points]) =>
    points?.split(' ').at(-1),
  );
  expect(ends).toEqual(['580.0,24.0', '580.0,24.0']);
});

test('the axes say how many Networks, and the highest values', () => {
  const texts = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
  expect(texts).toEqual(expect.arrayContaining(['1,000', '2,000', '200', '20', 'resident memory, MB']));
});

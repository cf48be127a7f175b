import { expect, test } from '@jest/globals';
import { growthPlot } from '../../../hack/pictures/growth-plot.ts';

const svg = growthPlot([
  { networks: 1_000, millisecondsEach: 10, residentMb: 100 },
  { networks: 2_000, millisecondsEach: 20, residentMb: 200 },
]);

test('draws both curves to the end of their axes', () => {
  const ends = [...svg.matchAll(/<polyline points="([^"]+)"/g)].map(([, points]) =>
    points?.split(' ').at(-1),
  );
  expect(ends).toEqual(['580.0,24.0', '580.0,24.0']);
});

test('labels the axes with the number of Networks and the highest values', () => {
  const texts = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
  expect(texts).toEqual(expect.arrayContaining(['1,000', '2,000', '200', '20', 'resident memory, MB']));
});

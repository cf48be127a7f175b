import { expect, test } from '@jest/globals';
import { reviewPlot } from '../../../hack/pictures/review-plot.ts';

test('each server has a bar, relative to the longest one of its group', () => {
  const servers = [
    { name: 'ours', microseconds: 50 },
    { name: 'theirs', microseconds: 100 },
  ];
  const picture = reviewPlot([{ name: '6 kB', servers }]);
  expect(picture).toContain('>6 kB</text>');
  expect([...picture.matchAll(/<rect x="190".* width="([\d.]+)"/g)].map(([, width]) => width)).toEqual([
    '165.0',
    '330.0',
  ]);
  expect([...picture.matchAll(/>(\d+) µs</g)].map(([, label]) => label)).toEqual(['50', '100']);
});

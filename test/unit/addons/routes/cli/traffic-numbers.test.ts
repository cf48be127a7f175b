import { describe, expect, test } from '@jest/globals';
import { readPage, rowsOf, since } from '../../../../../src/addons/routes/cli/traffic-numbers.ts';

/** A page with the buckets 10 and 100, of which `slow` requests are in the second one and `slower` in none. */
function page(
  counts: Readonly<Record<string, number>>,
  { uptime = 100, slow = 0, slower = 0, name = 'route="shop/web rules[0]",backend="shop/v1:80"' } = {},
): string {
  const lines = Object.entries(counts).flatMap(([tags, count]) => {
    const labels = `${name},code="${tags.split('/')[0]}",grpc_status="${tags.split('/')[1] ?? ''}"`;
    const within = [count - slow - slower, count - slower];
    return [
      ...[10, 100].map((le, i) => `envoy_route_milliseconds_bucket{${labels},le="${le}"} ${within[i]}`),
      `envoy_route_milliseconds_bucket{${labels},le="+Inf"} ${count}`,
      `envoy_route_milliseconds_count{${labels}} ${count}`,
    ];
  });
  return [...lines, `envoy_server_uptime{} ${uptime}`, ''].join('\n');
}
const row = (...pages: readonly string[]) => rowsOf(pages.map(readPage))[0];

describe('a row', () => {
  test.each<[string, Readonly<Record<string, number>>, number]>([
    ['all answers but 5xx', { '2xx': 90, '3xx': 2, '4xx': 3, '5xx': 5 }, 0.95],
    ['no request without an answer', { '2xx': 3, xx: 1 }, 0.75],
    ['no fault of gRPC, whose code is 200', { '2xx/0': 1, '2xx/5': 1, '2xx/14': 1, '2xx/2': 1 }, 0.5],
  ])('counts as success %s', (_, counts, success) => {
    expect(row(page(counts))).toMatchObject({ success, route: 'shop/web rules[0]', backend: 'shop/v1:80' });
  });

  test('adds up what several sidecars have seen, and the rate of each since it started', () => {
    const sum = row(page({ '2xx': 100 }), page({ '5xx': 100 }, { uptime: 10 }));
    expect(sum).toMatchObject({ requests: 200, success: 0.5, rps: 11, clients: 2 });
  });

  test('has the percentiles of all its codes, evenly spread in a bucket, and infinite ones beyond the last', () => {
    expect(row(page({ '2xx': 100 }, { slow: 50 }))).toMatchObject({ p50: 10, p95: 91, p99: 98.2 });
    expect(row(page({ '2xx': 100 }, { slower: 2 }))).toMatchObject({ p99: Number.POSITIVE_INFINITY });
    expect(row(page({ '2xx': 50, '5xx': 50 }, { slow: 25 }))).toMatchObject({ p50: 10, requests: 100 });
  });

  test('is there for each rule and backend with requests, in their order', () => {
    const pages = [page({ '2xx': 1 }, { name: 'route="b",backend="x"' }), page({ '2xx': 0 })];
    const rows = rowsOf([...pages, page({ '4xx': 2 }, { name: 'route="",backend=""' })].map(readPage));
    expect(rows.map(({ route, requests }) => [route, requests])).toEqual([
      ['', 2],
      ['b', 1],
    ]);
  });
});

describe('what came since an earlier reading', () => {
  const between = (before: string, now: string) => rowsOf([since(readPage(now), readPage(before))])[0];

  test('is the difference, of the percentiles, too', () => {
    const now = page({ '2xx': 130 }, { uptime: 110, slow: 20 });
    expect(between(page({ '2xx': 100 }), now)).toMatchObject({
      requests: 30,
      rps: 3,
      success: 1,
      p95: 93.25,
    });
    expect(between(now, now)).toBeUndefined();
  });

  test('is all of a sidecar that has started again', () => {
    const restarted = page({ '2xx': 200 }, { uptime: 2 });
    expect(between(page({ '2xx': 100 }), restarted)).toMatchObject({ requests: 200, rps: 100 });
  });
});

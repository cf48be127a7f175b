import { afterEach, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ApiError, apiErrorFrom, TransportError } from '../../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import { decodeObject, type Resource } from '../../../../src/kube/api/resource.ts';
import { jsonLines, MalformedLineError } from '../../../../src/kube/api/response.ts';
import { type ServedResource, servedResource } from '../../../../src/kube/client/discovery.ts';
import { retryDelay } from '../../../../src/kube/client/rest-client.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const resource = (group: string, version: string, plural: string): Resource<KubeObject> => ({
  ...{ group, version, plural, kind: 'Any', namespaced: true, decode: decodeObject },
});
const CLAIMS = resource('k8s.cni.cncf.io', 'v1alpha1', 'ipamclaims');
const ROUTES = resource('gateway.networking.k8s.io', 'v1', 'httproutes');
const MINUTE = 60_000;

let clock: FakeClock;
/** The resources of each `group/version` that the API server serves. */
let serves: Record<string, readonly string[]>;
let failure: Error | undefined;
let follow: (of: Resource<KubeObject>) => {
  readonly served: ServedResource;
  readonly running: Promise<void>;
};
let requests: string[];
let lines: ReturnType<typeof capturedLog>['lines'];
let stop: AbortController;

beforeEach(() => {
  clock = new FakeClock();
  [serves, requests, failure, stop] = [{}, [], undefined, new AbortController()];
  const captured = capturedLog();
  lines = captured.lines;
  const client = {
    async request(_method: string, path: string) {
      requests.push(path);
      if (failure) throw failure;
      const names = serves[path.replace('/apis/', '')];
      if (!names) throw apiErrorFrom(404, {});
      return { resources: names.map((name) => ({ name })) };
    },
  };
  follow = (of) => {
    const served = servedResource(of, { client, clock, log: captured.log });
    return { served, running: served.run(stop.signal) };
  };
});
afterEach(() => stop.abort());

test('discovery knows what is served, with one request for each', async () => {
  serves = { 'k8s.cni.cncf.io/v1alpha1': ['ipamclaims'], 'gateway.networking.k8s.io/v1': ['httproutes'] };
  const [claims, routes] = [follow(CLAIMS), follow(ROUTES)];
  expect(claims.served.isServed).toBeUndefined();
  expect(await claims.served.known(stop.signal)).toBe(true);
  expect(await routes.served.until(stop.signal)).toBe(true);
  await Promise.all([claims.running, routes.running]);
  expect(requests).toEqual(['/apis/k8s.cni.cncf.io/v1alpha1', '/apis/gateway.networking.k8s.io/v1']);
  expect(clock.pendingTimers).toBe(0);
});

test('discovery looks every 30 s for what is missing', async () => {
  for (const each of [CLAIMS, ROUTES]) expect(await follow(each).served.known(stop.signal)).toBe(false);
  await clock.advanceAsync(10 * MINUTE);
  requests.length = 0;
  await clock.advanceAsync(60 * MINUTE);
  expect(requests).toEqual(
    Array.from({ length: 120 }, () => [
      '/apis/k8s.cni.cncf.io/v1alpha1',
      '/apis/gateway.networking.k8s.io/v1',
    ]).flat(),
  );
});

test('discovery finds a resource whose definition comes later, and says so once', async () => {
  const { served: claims } = follow(CLAIMS);
  await clock.advanceAsync(10 * MINUTE);
  serves = { 'k8s.cni.cncf.io/v1alpha1': ['others'] };
  await clock.advanceAsync(MINUTE);
  expect(claims.isServed).toBe(false);
  serves = { 'k8s.cni.cncf.io/v1alpha1': ['ipamclaims', 'others'] };
  await clock.advanceAsync(MINUTE);
  expect(await claims.until(stop.signal)).toBe(true);
  expect(lines.map(({ msg, resource: of }) => `${of}: ${msg}`)).toEqual([
    'ipamclaims.k8s.cni.cncf.io: resource is not served: its watch starts when it is',
    'ipamclaims.k8s.cni.cncf.io: resource is served now',
  ]);
  requests.length = 0;
  await clock.advanceAsync(10 * MINUTE);
  expect(requests).toEqual([]);
});

test('discovery gives no answer while the API server gives none', async () => {
  failure = apiErrorFrom(503, {});
  const { served: claims } = follow(CLAIMS);
  await clock.advanceAsync(0);
  expect(claims.isServed).toBeUndefined();
  expect(lines).toHaveLength(1);
  const leaving = AbortSignal.abort();
  expect(await claims.known(leaving)).toBeUndefined();
  expect(await claims.until(leaving)).toBe(false);
  failure = undefined;
  serves = { 'k8s.cni.cncf.io/v1alpha1': ['ipamclaims'] };
  await clock.advanceAsync(MINUTE);
  expect(claims.isServed).toBe(true);
});

async function* chunked(...chunks: readonly (string | Uint8Array)[]) {
  for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

async function read(...chunks: readonly (string | Uint8Array)[]): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of jsonLines(chunked(...chunks))) values.push(value);
  return values;
}

test('lines of JSON carry any values, wherever the bytes are cut', async () => {
  const values = fc.array(fc.record({ text: fc.string({ unit: 'grapheme' }), number: fc.integer() }));
  await fc.assert(
    fc.asyncProperty(values, fc.infiniteStream(fc.integer({ min: 1, max: 20 })), async (sent, sizes) => {
      const bytes = Buffer.from(sent.map((value) => `${JSON.stringify(value)}\n`).join(''));
      const chunks: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; ) {
        const end = at + sizes.next().value;
        chunks.push(bytes.subarray(at, end));
        at = end;
      }
      expect(await read(...chunks)).toEqual(sent);
    }),
  );
});

test('lines of JSON drop a last line without a newline, even when it is whole JSON', async () => {
  expect(await read('{"a":1}\n{"a":', '2}')).toEqual([{ a: 1 }]);
});

test.each(['<html>', '{"a":1', 'undefined', '{"a":1}{"a":2}'])(
  'lines of JSON refuse the line %j, and quote it',
  async (line) => {
    await expect(read(`${line}\n`)).rejects.toThrow(MalformedLineError);
    await expect(read(`${line}\n`)).rejects.toThrow(`expected a line of JSON, got ${JSON.stringify(line)}`);
  },
);

test('lines of JSON refuse a line that is too long before it fills the memory', async () => {
  const chunk = 'x'.repeat(1024 * 1024);
  await expect(read(...Array.from({ length: 17 }, () => chunk))).rejects.toThrow(
    'expected a line of at most 16777216 characters, got more',
  );
});

const api = (status: number, retryAfter?: string, body: object = {}) =>
  apiErrorFrom(status, body, retryAfter);
const cut = (code: string) => new TransportError('cut', code, undefined);

test.each([
  ['429 with Retry-After', api(429, '1'), 1000, 1000],
  ['429 without Retry-After', api(429), 100, 100],
  ['503 with Retry-After', api(503, '2'), 2000, 2000],
  ['503 without Retry-After', api(503), undefined, undefined],
  ['500', api(500), undefined, undefined],
  ['409', api(409), undefined, undefined],
  ['404 with Retry-After', api(404, '1'), undefined, undefined],
  ['a wait that the caller must plan', api(429, '6'), undefined, undefined],
  ['refused', cut('ECONNREFUSED'), 100, 100],
  ['reset', cut('ECONNRESET'), 100, undefined],
  ['an idle connection that the server has closed', cut('UND_ERR_SOCKET'), 100, undefined],
  ['timed out', cut('ETIMEDOUT'), undefined, undefined],
  ['credentials that cannot be read', cut('ECREDENTIALS'), undefined, undefined],
  ['a bug', new TypeError('bug'), undefined, undefined],
  [
    'a resourceVersion ahead of the server',
    new ApiError({
      status: 504,
      reason: 'Timeout',
      message: '',
      retryAfterMs: 1000,
      causes: ['ResourceVersionTooLarge'],
    }),
    undefined,
    undefined,
  ],
])('retryDelay %s', (_, error, read, write) => {
  expect(retryDelay('GET', error, 1)).toBe(read);
  for (const method of ['POST', 'PATCH', 'PUT', 'DELETE'] as const)
    expect(retryDelay(method, error, 1)).toBe(write);
});

test('retryDelay doubles the delay each time, and gives up after the fourth retry', () => {
  expect([1, 2, 3, 4].map((attempt) => retryDelay('GET', cut('ECONNRESET'), attempt))).toEqual([
    100,
    200,
    400,
    undefined,
  ]);
});

test('retryDelay is never shorter than Retry-After', () => {
  expect(retryDelay('GET', api(429, '0'), 2)).toBe(200);
  expect(retryDelay('GET', api(429, '5'), 3)).toBe(5000);
});

import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { apiErrorFrom } from '../../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import { decodeObject, type Resource } from '../../../../src/kube/api/resource.ts';
import { Discovery } from '../../../../src/kube/client/discovery.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const resource = (group: string, version: string, plural: string): Resource<KubeObject> => ({
  ...{ group, version, plural, kind: 'Any', namespaced: true, decode: decodeObject },
});
const CLAIMS = resource('k8s.cni.cncf.io', 'v1alpha1', 'ipamclaims');
const ROUTES = resource('gateway.networking.k8s.io', 'v1', 'httproutes');
const MINUTE = 60_000;

let clock: FakeClock;
let discovery: Discovery;
/** The resources of each `group/version` that the API server serves. */
let serves: Record<string, readonly string[]>;
let failure: Error | undefined;
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
  discovery = new Discovery({ client, clock, log: captured.log });
});
afterEach(() => stop.abort());

test('tells what is served, with one request for each', async () => {
  serves = { 'k8s.cni.cncf.io/v1alpha1': ['ipamclaims'], 'gateway.networking.k8s.io/v1': ['httproutes'] };
  const [claims, routes] = [discovery.follow(CLAIMS), discovery.follow(ROUTES)];
  expect(claims.isServed).toBeUndefined();
  const running = discovery.run(stop.signal);
  expect(await claims.known(stop.signal)).toBe(true);
  expect(await routes.until(stop.signal)).toBe(true);
  await running;
  expect(requests).toEqual(['/apis/k8s.cni.cncf.io/v1alpha1', '/apis/gateway.networking.k8s.io/v1']);
  expect(clock.pendingTimers).toBe(0);
});

test('looks every 30 s for what is missing', async () => {
  const [claims, routes] = [discovery.follow(CLAIMS), discovery.follow(ROUTES)];
  void discovery.run(stop.signal);
  expect(await claims.known(stop.signal)).toBe(false);
  expect(await routes.known(stop.signal)).toBe(false);
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

test('finds a resource whose definition comes later, and says so once', async () => {
  const claims = discovery.follow(CLAIMS);
  void discovery.run(stop.signal);
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

test('gives no answer while the API server gives none', async () => {
  const claims = discovery.follow(CLAIMS);
  failure = apiErrorFrom(503, {});
  void discovery.run(stop.signal);
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

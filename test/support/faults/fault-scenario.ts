import fc from 'fast-check';
import { errorEvent, type Fault } from './fault.ts';

/** One thing that the writer does, or that happens to the connections, and how long it pauses afterwards. */
export interface Step {
  readonly action: 'create' | 'update' | 'delete' | 'recreate' | 'unselect' | 'cut' | 'join';
  /** Which object. */
  readonly which: number;
  readonly pauseMs: number;
}

/** What happens to one informer. */
export interface Scenario {
  readonly faults: readonly Fault[];
  readonly steps: readonly Step[];
  readonly pageSize: number | undefined;
  /** It is stopped in the midst of all this, not when all is mended. */
  readonly stopsMidway: boolean;
}

const after = fc.nat({ max: 6 });
const insertions = [
  'garbage\n',
  '\u0000\n',
  '{"type":"ADDED","object":{"metadata":\n',
  '{"type":"ADDED","object":{}}\n',
  '{"type":"MODIFIED","object":{"metadata":{"name":"x"}}}\n',
  '{"type":"RENAMED","object":{"metadata":{"name":"x","resourceVersion":"1"}}}\n',
  '[]\n',
  errorEvent(410, 'Expired'),
  errorEvent(429, 'TooManyRequests'),
  errorEvent(500, 'InternalError'),
  errorEvent(500, 'StoreReadError'),
];

const fault: fc.Arbitrary<Fault> = fc.oneof(
  // Without lists that succeed, few watches would meet anything.
  { weight: 3, arbitrary: fc.constant({ kind: 'none' as const }) },
  fc.constant({ kind: 'reset' as const }),
  fc.constant({ kind: 'hang' as const }),
  fc.constant({ kind: 'behind' as const }),
  fc.record({ kind: fc.constant('delay' as const), ms: fc.nat({ max: 200 }) }),
  fc.record({
    kind: fc.constantFrom('refuse' as const, 'no-handshake' as const, 'half' as const, 'blackhole' as const),
    ms: fc.integer({ min: 10, max: 150 }),
  }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('status' as const),
      code: fc.constantFrom(403, 404, 410, 429, 500, 503, 504),
    }),
  },
  fc.record({
    kind: fc.constant('status' as const),
    code: fc.constantFrom(429, 503),
    retryAfter: fc.constant(0),
  }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cut' as const), after }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), after }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('truncate' as const), after: fc.nat({ max: 2 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('stall' as const), after }) },
  fc.record({ kind: fc.constant('drip' as const), after, everyMs: fc.integer({ min: 20, max: 100 }) }),
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('insert' as const),
      after,
      text: fc.constantFrom(...insertions),
    }),
  },
);

const step: fc.Arbitrary<Step> = fc.record({
  action: fc.oneof(
    { weight: 4, arbitrary: fc.constant('create' as const) },
    { weight: 4, arbitrary: fc.constant('update' as const) },
    { weight: 2, arbitrary: fc.constantFrom('delete' as const, 'recreate' as const) },
    {
      weight: 2,
      arbitrary: fc.constantFrom('unselect' as const, 'cut' as const, 'join' as const),
    },
  ),
  which: fc.nat({ max: 5 }),
  pauseMs: fc.nat({ max: 15 }),
});

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  faults: fc.array(fault, { minLength: 1, maxLength: 10 }),
  steps: fc.array(step, { minLength: 1, maxLength: 25 }),
  pageSize: fc.constantFrom(undefined, 2),
  stopsMidway: fc.nat({ max: 5 }).map((n) => n === 0),
});

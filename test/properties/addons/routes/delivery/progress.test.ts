import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Compilation } from '../../../../../src/addons/routes/compile/compile.ts';
import type { Obstacle } from '../../../../../src/addons/routes/compile/status.ts';
import { type Fleet, Progress } from '../../../../../src/addons/routes/delivery/progress.ts';
import type { LiveRoute } from '../../../../../src/addons/routes/delivery/resources.ts';

const NAMESPACES = ['a', 'b', 'c', 'd'];
const ROUTES = ['a/r', 'b/r', 'c/s'];
const VERSIONS = ['1', '2', '3'];

const namespace = fc.constantFrom(...NAMESPACES);
const byNamespace = <T>(value: fc.Arbitrary<T>) =>
  fc.array(value, { minLength: NAMESPACES.length, maxLength: NAMESPACES.length });
const compile = fc.record({
  do: fc.constant('compile' as const),
  changed: fc.subarray(ROUTES),
  versions: byNamespace(fc.constantFrom(...VERSIONS)),
  leftOut: byNamespace(fc.option(namespace, { nil: undefined })),
  everywhere: fc.subarray(ROUTES),
  others: fc.subarray(NAMESPACES),
});
const step = fc.oneof(
  compile,
  fc.record({ do: fc.constantFrom('file', 'noFile', 'obstacle', 'noObstacle'), namespace }),
  fc.record({
    do: fc.constant('run' as const),
    namespace,
    version: fc.constantFrom(...VERSIONS),
    count: fc.nat(2),
  }),
  fc.record({ do: fc.constant('ask' as const), route: fc.constantFrom(...ROUTES) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** One that counts what has changed, and one that counts all namespaces for each answer. */
class Pair {
  readonly #quick = new Progress();
  readonly #slow = new Progress();
  readonly #generations = new Map(ROUTES.map((route) => [route, 1]));
  readonly #files = new Set<string>();
  readonly #obstacles = new Map<string, Obstacle>();
  readonly #tallies = new Map(NAMESPACES.map((each) => [each, new Map<string, number>()]));
  #compilation: Pick<Compilation, 'file' | 'reach' | 'routes'> | undefined;
  readonly #fleet: Fleet = {
    namespaces: () => new Set([...this.#files, ...this.#obstacles.keys()]),
    has: (each) => this.#files.has(each) || this.#obstacles.has(each),
    tally: (each) => this.#tallies.get(each) ?? new Map(),
    obstacles: this.#obstacles,
  };

  take(step: Step): void {
    if (step.do === 'compile') this.#compile(step);
    if (step.do === 'run') {
      this.#tallies.get(step.namespace)?.set(step.version, step.count);
      this.#both((progress) => progress.recount(step.namespace));
    }
    if ('namespace' in step && step.do !== 'run') this.#change(step.do, step.namespace);
  }

  answers(route: string): readonly unknown[] {
    for (const each of NAMESPACES) this.#slow.recount(each);
    return [this.#quick, this.#slow].map((progress) =>
      progress.of(route, this.#compilation as Compilation, this.#fleet),
    );
  }

  #change(what: string, of: string): void {
    if (what === 'file') this.#files.add(of);
    if (what === 'noFile') this.#files.delete(of);
    if (what === 'obstacle') this.#obstacles.set(of, { reason: 'RoutesTooLarge', message: of });
    if (what === 'noObstacle') this.#obstacles.delete(of);
    if (what === 'noFile') this.#both((progress) => progress.forget(of));
    // As a reconcile of the file does.
    else this.#both((progress) => progress.wanted(of, this.#compilation?.file(of).version ?? ''));
  }

  #compile({ changed, versions, leftOut, everywhere, others }: Extract<Step, { do: 'compile' }>): void {
    for (const route of changed) this.#generations.set(route, (this.#generations.get(route) ?? 0) + 1);
    const routes = [...this.#generations].map(
      ([key, generation]) => [key, { metadata: { name: key, uid: key, generation } } as LiveRoute] as const,
    );
    const fileOf = (of: string) => {
      const index = NAMESPACES.indexOf(of);
      const home = leftOut[index];
      const out = new Map(home === undefined ? [] : [[home, 5]]);
      const text = { text: '', json: () => ['""'].values(), bytes: 0 };
      return { ...text, version: versions[index] ?? '', leftOut: out };
    };
    const files = new Map(NAMESPACES.map((each) => [each, fileOf(each)]));
    const objects = ROUTES.map((key) => [key, { object: { metadata: { namespace: key.split('/')[0] } } }]);
    this.#compilation = {
      routes: new Map(objects as never),
      file: (of) => files.get(of) ?? fileOf(of),
      reach: (route) => ({ isEverywhere: everywhere.includes(route), namespaces: new Set(others) }),
    };
    this.#both((progress) => progress.compiled(routes));
  }

  #both(call: (progress: Progress) => void): void {
    for (const each of [this.#quick, this.#slow]) call(each);
  }
}

test('whatever happens, counts of what has changed are those of all', () => {
  fc.assert(
    fc.property(compile, fc.array(step, { minLength: 10, maxLength: 40 }), (first, steps) => {
      const pair = new Pair();
      for (const each of [first, ...steps]) {
        pair.take(each);
        if (each.do !== 'ask') continue;
        const [quick, slow] = pair.answers(each.route);
        expect(quick).toEqual(slow);
      }
    }),
    { numRuns: 2_000 },
  );
});

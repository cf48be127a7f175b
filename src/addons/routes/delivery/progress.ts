import type { Compilation } from '../compile/compile.ts';
import { leftOutText } from '../compile/left-out.ts';
import type { ObjectKey } from '../compile/route.ts';
import type { Obstacle, Programmed } from '../compile/status.ts';
import type { LiveRoute } from './resources.ts';

/** How many sidecars run each version; those that never answered are not in it. */
export type Tally = ReadonlyMap<string, number>;

/** The sidecars, as they are now. */
export interface Fleet {
  /** The namespaces whose sidecars count: those with a file, or with an obstacle to it. */
  namespaces(): Iterable<string>;
  tally(namespace: string): Tally;
  /** What keeps a file from the sidecars of a namespace. */
  readonly obstacles: ReadonlyMap<string, Obstacle>;
}

/** The sidecars of one namespace. */
interface Counted {
  readonly namespace: string;
  /** How many run a file that was current last at a compilation: by its number. */
  readonly turns: ReadonlyMap<number, number>;
  readonly leftOut: ReadonlyMap<string, number>;
}

const MAX_VERSIONS = 50;

/**
 * Knows which sidecars have a route in its present form: those that run a file from after its last change. So a change
 * of one route changes the numbers of no other. Sidecars are counted once for all routes.
 */
export class Progress {
  /** Counts compilations. */
  #sequence = 0;
  /** When a route had its last change. */
  readonly #changed = new Map<ObjectKey, { readonly id: string; readonly at: number }>();
  /** By namespace, the versions of its file and when each was current last, the present one as the last item. */
  readonly #versions = new Map<string, Map<string, number>>();
  /** By the names of the namespaces; undefined if something has changed since. */
  #counted: readonly Counted[] | undefined;
  #hasChanged = false;

  /** Notes a new compilation of these routes. */
  compiled(routes: Iterable<readonly [ObjectKey, LiveRoute]>): void {
    this.#sequence += 1;
    this.recount();
    const left = new Set(this.#changed.keys());
    for (const [key, { metadata }] of routes) {
      left.delete(key);
      const id = `${metadata.uid} ${metadata.generation}`;
      if (this.#changed.get(key)?.id !== id) this.#changed.set(key, { id, at: this.#sequence });
    }
    for (const key of left) this.#changed.delete(key);
  }

  /** Notes the version that the sidecars of a namespace should run as of the last compilation. */
  wanted(namespace: string, version: string): void {
    this.#want(namespace, version);
    this.recount();
  }

  #want(namespace: string, version: string): void {
    const versions = this.#versions.get(namespace) ?? new Map<string, number>();
    this.#versions.set(namespace, versions);
    for (const [each, last] of versions) {
      if (last === Number.POSITIVE_INFINITY && each !== version) versions.set(each, this.#sequence - 1);
    }
    versions.delete(version);
    versions.set(version, Number.POSITIVE_INFINITY);
    const [oldest] = versions.keys();
    if (versions.size > MAX_VERSIONS && oldest !== undefined) versions.delete(oldest);
  }

  /** Call it when sidecars, or what keeps the file from them, have changed. */
  recount(): void {
    this.#counted = undefined;
    this.#hasChanged = true;
  }

  /** Whether a number may have changed since the last call. */
  hasChanged(): boolean {
    const hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    return hasChanged;
  }

  /** Forgets a namespace that has no file any more. */
  forget(namespace: string): void {
    this.#versions.delete(namespace);
    this.recount();
  }

  /** How many of the sidecars for which a route holds have taken it, and what keeps it from the others. */
  of(route: ObjectKey, compilation: Compilation, fleet: Fleet): Programmed {
    this.#counted ??= [...this.#count(compilation, fleet)];
    const changed = this.#changed.get(route)?.at ?? 0;
    const home = compilation.routes.get(route)?.object.metadata.namespace ?? '';
    let [sidecars, of] = [0, 0];
    // The first by name: another one each time would be a new status.
    let [tooLarge, other]: (Obstacle | undefined)[] = [];
    for (const { namespace, turns, leftOut } of this.#counted) {
      if (!compilation.holds(route, namespace)) continue;
      const bytes = leftOut.get(home);
      if (bytes !== undefined) {
        tooLarge ??= { reason: 'RoutesTooLarge', message: leftOutText(home, bytes, namespace) };
      }
      for (const [turn, count] of turns) {
        of += count;
        if (bytes === undefined && turn >= changed) sidecars += count;
        else other ??= fleet.obstacles.get(namespace);
      }
    }
    const obstacle = tooLarge ?? other;
    return { sidecars, of, ...(obstacle && { obstacle }) };
  }

  *#count(compilation: Compilation, fleet: Fleet): Generator<Counted> {
    for (const namespace of [...fleet.namespaces()].sort()) {
      const { version, leftOut } = compilation.file(namespace);
      this.#want(namespace, version);
      const turns = new Map<number, number>();
      for (const [runs, count] of fleet.tally(namespace)) {
        addTo(turns, this.#versions.get(namespace)?.get(runs) ?? 0, count);
      }
      yield { namespace, turns, leftOut };
    }
  }
}

/** Adds to the number of a key; one with none is no key. */
export function addTo<K>(counts: Map<K, number>, key: K, count: number): void {
  const sum = (counts.get(key) ?? 0) + count;
  if (sum === 0) counts.delete(key);
  else counts.set(key, sum);
}

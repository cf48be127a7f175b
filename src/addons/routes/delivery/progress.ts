import type { Compilation } from '../compile/compile.ts';
import { leftOutText } from '../compile/left-out.ts';
import type { ObjectKey } from '../compile/objects.ts';
import type { RouteFile } from '../compile/route-configuration.ts';
import type { Obstacle, Programmed } from '../compile/status.ts';
import type { LiveRoute } from './resources.ts';
import type { Tally } from './tallies.ts';

/** The sidecars, as they are now. */
export interface Fleet {
  /** The namespaces whose sidecars count: those with a file, or with an obstacle to it. */
  namespaces(): Iterable<string>;
  /** Whether a namespace is one of them. */
  has(namespace: string): boolean;
  tally(namespace: string): Tally;
  /** What keeps a file from the sidecars of a namespace. */
  readonly obstacles: ReadonlyMap<string, Obstacle>;
}

/** How many sidecars run a file that was current last at a compilation: by its number. */
type Turns = Map<number, number>;

/** The sidecars of one namespace. */
interface Counted {
  readonly turns: Turns;
  readonly leftOut: ReadonlyMap<string, number>;
}

const MAX_VERSIONS = 50;

/**
 * Knows which sidecars have a route in its present form: those that run a file from after its last change. So a change
 * of one route changes the numbers of no other. The sidecars of all namespaces are summed up once for all routes, and
 * then only those of namespaces that have changed.
 */
export class Progress {
  /** Counts compilations. */
  #sequence = 0;
  /** When a route had its last change. */
  readonly #changed = new Map<ObjectKey, { readonly id: string; readonly at: number }>();
  /** By namespace, the versions of its file and when each was current last, the present one as the last item. */
  readonly #versions = new Map<string, Map<string, number>>();
  readonly #counted = new Map<string, Counted>();
  /** The sum of what is counted. */
  readonly #total: Turns = new Map();
  /** The namespaces whose routes some file leaves out. */
  readonly #homesLeftOut = new Set<string>();
  /** The namespaces to count again; undefined: all. */
  #stale: Set<string> | undefined;

  /** Notes a new compilation of these routes. */
  compiled(routes: Iterable<readonly [ObjectKey, LiveRoute]>): void {
    this.#sequence += 1;
    this.#stale = undefined;
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
    this.recount(namespace);
  }

  /** Call it when the sidecars of a namespace, or what keeps the file from them, have changed. */
  recount(namespace: string): void {
    this.#stale?.add(namespace);
  }

  /** Forgets a namespace that has no file any more. */
  forget(namespace: string): void {
    this.#versions.delete(namespace);
    this.recount(namespace);
  }

  /** How many of the sidecars for which a route holds have taken it. */
  of(route: ObjectKey, compilation: Compilation, fleet: Fleet): Programmed {
    this.#count(compilation, fleet);
    const changed = this.#changed.get(route)?.at ?? 0;
    const home = compilation.routes.get(route)?.object.metadata.namespace ?? '';
    const { isEverywhere, namespaces } = compilation.reach(route);
    const holds = (namespace: string) => namespaces.has(namespace) !== isEverywhere;
    if (this.#homesLeftOut.has(home)) return this.#ofLeftOut(home, changed, holds, fleet);
    const sum = { sidecars: 0, of: 0 };
    if (isEverywhere) add(sum, this.#total, changed);
    for (const namespace of namespaces) {
      add(sum, this.#counted.get(namespace)?.turns, changed, isEverywhere ? -1 : 1);
    }
    return withObstacle(sum, this.#obstacle(changed, holds, fleet));
  }

  /** The same for a route whose namespace is left out of some files: it has taken none of these. */
  #ofLeftOut(home: string, changed: number, holds: (namespace: string) => boolean, fleet: Fleet): Programmed {
    const sum = { sidecars: 0, of: 0 };
    // The first by name: another one each time would be a new status of all these routes.
    let first: { readonly namespace: string; readonly bytes: number } | undefined;
    for (const [namespace, { turns, leftOut }] of this.#counted) {
      if (!holds(namespace)) continue;
      const bytes = leftOut.get(home);
      add(sum, turns, bytes === undefined ? changed : undefined);
      if (bytes !== undefined && (!first || namespace < first.namespace)) first = { namespace, bytes };
    }
    const obstacle: Obstacle | undefined = first && {
      reason: 'RoutesTooLarge',
      message: leftOutText(home, first.bytes, first.namespace),
    };
    return withObstacle(sum, obstacle ?? this.#obstacle(changed, holds, fleet));
  }

  /** What keeps a route from sidecars that are behind. */
  #obstacle(
    changed: number,
    holds: (namespace: string) => boolean,
    { obstacles }: Fleet,
  ): Obstacle | undefined {
    for (const [namespace, obstacle] of obstacles) {
      if (!holds(namespace)) continue;
      const sum = { sidecars: 0, of: 0 };
      add(sum, this.#counted.get(namespace)?.turns, changed);
      if (sum.sidecars < sum.of) return obstacle;
    }
    return undefined;
  }

  /** Counts the sidecars of the namespaces that have changed. */
  #count(compilation: Compilation, fleet: Fleet): void {
    if (this.#stale?.size === 0) return;
    if (!this.#stale) for (const all of [this.#counted, this.#total, this.#homesLeftOut]) all.clear();
    const seen = new Set<RouteFile['leftOut']>();
    for (const namespace of this.#stale ?? fleet.namespaces()) {
      addTurns(this.#total, this.#counted.get(namespace)?.turns, -1);
      this.#counted.delete(namespace);
      if (!fleet.has(namespace)) continue;
      const { version, leftOut } = compilation.file(namespace);
      this.#want(namespace, version);
      const turns: Turns = new Map();
      for (const [runs, count] of fleet.tally(namespace)) {
        addTo(turns, this.#versions.get(namespace)?.get(runs) ?? 0, count);
      }
      addTurns(this.#total, turns, 1);
      this.#counted.set(namespace, { turns, leftOut });
      // Most namespaces have the same file.
      if (seen.has(leftOut)) continue;
      seen.add(leftOut);
      for (const home of leftOut.keys()) this.#homesLeftOut.add(home);
    }
    this.#stale = new Set();
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
}

function addTo(turns: Turns, turn: number, count: number): void {
  const sum = (turns.get(turn) ?? 0) + count;
  if (sum === 0) turns.delete(turn);
  else turns.set(turn, sum);
}

function addTurns(to: Turns, turns: Turns | undefined, sign: 1 | -1): void {
  for (const [turn, count] of turns ?? []) addTo(to, turn, sign * count);
}

/** Adds sidecars, and as having the route those whose file is from after its change; undefined: none of them. */
function add(
  sum: { sidecars: number; of: number },
  turns: Turns | undefined,
  changed: number | undefined,
  sign: 1 | -1 = 1,
): void {
  for (const [turn, count] of turns ?? []) {
    sum.of += sign * count;
    if (changed !== undefined && turn >= changed) sum.sidecars += sign * count;
  }
}

function withObstacle(sum: Programmed, obstacle: Obstacle | undefined): Programmed {
  return obstacle ? { ...sum, obstacle } : sum;
}

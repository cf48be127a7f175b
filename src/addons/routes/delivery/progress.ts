import type { ObjectKey } from '../../../kube/api/object.ts';
import type { Compilation } from '../compile/compile.ts';
import { leftOutText } from '../compile/left-out.ts';
import { isAmong } from '../compile/port-table.ts';
import type { Obstacle, Programmed } from '../compile/status.ts';

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

interface Counts {
  readonly all: Counted['turns'];
  readonly byNamespace: ReadonlyMap<string, Counted>;
  /** Those that something keeps from routes, by their names. */
  readonly troubled: readonly Counted[];
}

const MAX_VERSIONS = 50;
/** The turn of sidecars that do not get a route. */
const NEVER = -1;

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
  /** Undefined if something has changed since. */
  #counts: Counts | undefined;
  #hasChanged = false;

  /** Notes a new compilation. A route also changes with what it refers to: a Service or a grant that was missing. */
  compiled(routes: Compilation['routes']): void {
    this.#sequence += 1;
    this.recount();
    const left = new Set(this.#changed.keys());
    for (const [key, { object, attachments, faults }] of routes) {
      left.delete(key);
      const { uid, generation } = object.metadata;
      const id = JSON.stringify([uid, generation, attachments, faults]);
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
    this.#counts = undefined;
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
    this.#counts ??= this.#count(compilation, fleet);
    const { all, byNamespace, troubled } = this.#counts;
    const changed = this.#changed.get(route)?.at ?? 0;
    const home = compilation.routes.get(route)?.object.metadata.namespace ?? '';
    const clients = compilation.clients(route);
    // Most routes hold for all but a few namespaces, or for one: no route goes through all.
    const turns = new Map(clients.isForAll ? all : []);
    for (const namespace of clients.namespaces) {
      for (const [turn, count] of byNamespace.get(namespace)?.turns ?? [])
        addTo(turns, turn, clients.isForAll ? -count : count);
    }
    // The first by name: another one each time would be a new status.
    let [tooLarge, other]: (Obstacle | undefined)[] = [];
    for (const { namespace, turns: theirs, leftOut } of troubled) {
      if (!isAmong(namespace, clients)) continue;
      const bytes = leftOut.get(home);
      if (bytes !== undefined) {
        tooLarge ??= { reason: 'RoutesTooLarge', message: leftOutText(home, bytes, namespace) };
        for (const [turn, count] of theirs) {
          addTo(turns, turn, -count);
          addTo(turns, NEVER, count);
        }
      } else if ([...theirs.keys()].some((turn) => turn < changed)) other ??= fleet.obstacles.get(namespace);
    }
    const counts = [...turns];
    const sum = (of: typeof counts) => of.reduce((total, [, count]) => total + count, 0);
    const obstacle = tooLarge ?? other;
    const sidecars = sum(counts.filter(([turn]) => turn >= changed));
    return { sidecars, of: sum(counts), ...(obstacle && { obstacle }) };
  }

  #count(compilation: Compilation, fleet: Fleet): Counts {
    const all = new Map<number, number>();
    const byNamespace = new Map<string, Counted>();
    for (const namespace of [...fleet.namespaces()].sort()) {
      const { version, leftOut } = compilation.file(namespace);
      this.#want(namespace, version);
      const turns = new Map<number, number>();
      for (const [runs, count] of fleet.tally(namespace)) {
        const turn = this.#versions.get(namespace)?.get(runs) ?? 0;
        addTo(turns, turn, count);
        addTo(all, turn, count);
      }
      byNamespace.set(namespace, { namespace, turns, leftOut });
    }
    const troubled = [...byNamespace.values()].filter(
      ({ namespace, leftOut }) => leftOut.size > 0 || fleet.obstacles.has(namespace),
    );
    return { all, byNamespace, troubled };
  }
}

/** Adds to the number of a key; one with none is no key. */
export function addTo<K>(counts: Map<K, number>, key: K, count: number): void {
  const sum = (counts.get(key) ?? 0) + count;
  if (sum === 0) counts.delete(key);
  else counts.set(key, sum);
}

import type { Compilation } from '../routing/compile.ts';
import { leftOutText } from '../routing/left-out.ts';
import type { ObjectKey } from '../routing/objects.ts';
import type { Obstacle, Programmed } from '../routing/status.ts';
import type { LiveRoute } from './resources.ts';
import type { Tally } from './sidecars.ts';

const MAX_VERSIONS = 50;

/**
 * Knows which sidecars have a route in its present form: those that run a file from after its last change. So a change
 * of one route changes the numbers of no other.
 */
export class Progress {
  /** Counts compilations. */
  #sequence = 0;
  /** When a route had its last change. */
  readonly #changed = new Map<ObjectKey, { readonly id: string; readonly at: number }>();
  /** By namespace, the versions of its file and when each was current last, the present one as the last item. */
  readonly #versions = new Map<string, Map<string, number>>();
  #holders = new Map<string, ReadonlySet<ObjectKey>>();

  /** Notes a new compilation of these routes. */
  compiled(routes: Iterable<readonly [ObjectKey, LiveRoute]>): void {
    this.#sequence += 1;
    this.#holders = new Map();
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

  /** Forgets a namespace that has no file any more. */
  forget(namespace: string): void {
    this.#versions.delete(namespace);
    this.#holders.delete(namespace);
  }

  /** How many of the sidecars for which a route holds have taken it. */
  of(
    route: ObjectKey,
    compilation: Compilation,
    namespaces: Iterable<string>,
    tally: (namespace: string) => Tally,
    obstacleIn: (namespace: string) => Obstacle | undefined = () => undefined,
  ): Programmed {
    const changed = this.#changed.get(route)?.at ?? 0;
    let [sidecars, of] = [0, 0];
    let obstacle: Obstacle | undefined;
    for (const namespace of namespaces) {
      if (!this.#held(namespace, compilation).has(route)) continue;
      const { version, leftOut } = compilation.file(namespace);
      this.wanted(namespace, version);
      const home = route.slice(0, route.indexOf('/'));
      const bytes = leftOut.get(home);
      if (bytes !== undefined) {
        for (const count of tally(namespace).values()) of += count;
        obstacle ??= { reason: 'RoutesTooLarge', message: leftOutText(home, bytes, namespace) };
        continue;
      }
      const versions = this.#versions.get(namespace);
      for (const [version, count] of tally(namespace)) {
        of += count;
        if ((versions?.get(version) ?? 0) >= changed) sidecars += count;
        else obstacle ??= obstacleIn(namespace);
      }
    }
    return { sidecars, of, ...(obstacle && { obstacle }) };
  }

  /** The routes that hold for clients in a namespace. */
  #held(namespace: string, compilation: Compilation): ReadonlySet<ObjectKey> {
    const known = this.#holders.get(namespace);
    if (known) return known;
    const held = new Set(
      compilation.ports(namespace).flatMap(({ entries }) => entries.map(({ route }) => route)),
    );
    this.#holders.set(namespace, held);
    return held;
  }
}

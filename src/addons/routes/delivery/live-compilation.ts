import type { Lister } from '../../../kube/cache/store.ts';
import type { Slices } from '../../../kube/util/slices.ts';
import { type Compilation, compileSteps } from '../compile/compile.ts';
import { routeKey } from '../compile/route.ts';
import type { Progress } from './progress.ts';
import type { LiveGrant, LiveRoute, LiveService } from './resources.ts';

export interface LiveCompilationOptions {
  readonly routes: Pick<Lister<LiveRoute>, 'list'>;
  readonly services: Pick<Lister<LiveService>, 'get'>;
  readonly grants: Pick<Lister<LiveGrant>, 'list'>;
  readonly progress: Pick<Progress, 'compiled'>;
  readonly slices: Pick<Slices, 'run'>;
  /** Whose files are written at once. */
  namespaces(): Iterable<string>;
}

/** The routes of the cluster, as they were compiled last. */
export class LiveCompilation {
  readonly #options: LiveCompilationOptions;
  #known: Promise<Compilation> | undefined;

  constructor(options: LiveCompilationOptions) {
    this.#options = options;
  }

  /** Waits only if they were never compiled. */
  get(): Promise<Compilation> {
    this.#known ??= this.#compile();
    return this.#known;
  }

  /** Compiles them again. Until then, get() answers with those from before. */
  async renew(): Promise<void> {
    const before = this.#known;
    const next = this.#compile();
    if (!before) this.#known = next;
    await next;
    // Else they were forgotten meanwhile.
    if (this.#known === before) this.#known = next;
  }

  /** At the end of a term: the next one is not to begin with these. */
  forget(): void {
    this.#known = undefined;
  }

  #compile(): Promise<Compilation> {
    return this.#options.slices.run('', this.#steps());
  }

  *#steps(): Generator<void, Compilation> {
    const { routes, services, grants, progress, namespaces } = this.#options;
    const list = routes.list();
    const compilation = yield* compileSteps({ routes: list, services, grants: grants.list() });
    yield* compilation.prepare(namespaces());
    progress.compiled(list.map((route) => [routeKey(route), route]));
    return compilation;
  }
}

import { keyOf } from '../kube/api/object.ts';
import type { Lister } from '../kube/cache/store.ts';
import { type Compilation, compileRoutes } from '../routing/compile.ts';
import type { Progress } from './progress.ts';
import type { LiveGrant, LiveRoute, LiveService } from './resources.ts';

/** The compiled routes of the cluster: they are compiled at the first question after a change. */
export class LiveCompilation {
  readonly #routes: Pick<Lister<LiveRoute>, 'list'>;
  readonly #services: Pick<Lister<LiveService>, 'get'>;
  readonly #grants: Pick<Lister<LiveGrant>, 'list'>;
  readonly #progress: Pick<Progress, 'compiled'>;
  #known: Compilation | undefined;

  constructor(
    routes: Pick<Lister<LiveRoute>, 'list'>,
    services: Pick<Lister<LiveService>, 'get'>,
    grants: Pick<Lister<LiveGrant>, 'list'>,
    progress: Pick<Progress, 'compiled'>,
  ) {
    this.#routes = routes;
    this.#services = services;
    this.#grants = grants;
    this.#progress = progress;
  }

  get(): Compilation {
    if (this.#known) return this.#known;
    const routes = this.#routes.list();
    this.#known = compileRoutes({ routes, services: this.#services, grants: this.#grants.list() });
    this.#progress.compiled(routes.map((route) => [keyOf(route), route]));
    return this.#known;
  }

  /** Call it when routes or Services have changed. */
  forget(): void {
    this.#known = undefined;
  }
}

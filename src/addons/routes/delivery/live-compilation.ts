import type { Lister } from '../../../kube/cache/store.ts';
import type { Slices } from '../../../kube/util/slices.ts';
import { sleep } from '../../../kube/util/waits.ts';
import type { Clock } from '../../../kube/workqueue/clock.ts';
import { type Compilation, compileSteps } from '../compile/compile.ts';
import type { ReferenceGrant } from '../compile/grants.ts';
import type { Route, Service } from '../compile/route.ts';
import type { Progress } from './progress.ts';

export interface LiveCompilationOptions {
  readonly routes: Pick<Lister<Route>, 'list'>;
  readonly services: Pick<Lister<Service>, 'get'>;
  readonly grants: Pick<Lister<ReferenceGrant>, 'list'>;
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
    const compilation = yield* compileSteps({ routes: routes.list(), services, grants: grants.list() });
    yield* compilation.prepare(namespaces());
    progress.compiled(compilation.routes);
    return compilation;
  }
}

const QUIET_MS = 50;
const LONGEST_MS = 1000;

/** Gathers changes: they are handled when there were none for 50 ms, and after 1 s at the latest. */
export class Changes {
  readonly #clock: Clock;
  #isMarked = false;
  #wake: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  mark(): void {
    this.#isMarked = true;
    this.#wake();
  }

  /** Calls `handle` after each group of changes, until the signal aborts. */
  async run(handle: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const wake = () => this.#wake();
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      await this.#marked(signal);
      const end = this.#clock.now() + LONGEST_MS;
      while (this.#isMarked && this.#clock.now() < end && !signal.aborted) {
        this.#isMarked = false;
        await sleep(this.#clock, QUIET_MS, signal).catch(() => undefined);
      }
      if (signal.aborted) return;
      this.#isMarked = false;
      await handle();
    }
  }

  async #marked(signal: AbortSignal): Promise<void> {
    if (this.#isMarked || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }
}

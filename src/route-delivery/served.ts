import { isNotFound, retryAfterMs } from '../kube/api/api-error.ts';
import type { KubeObject } from '../kube/api/object.ts';
import type { Resource } from '../kube/api/resource.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Logger } from '../kube/util/log.ts';
import { sleep } from '../kube/util/sleep.ts';
import type { Clock } from '../kube/workqueue/clock.ts';

const PERIOD_MS = 10_000;

export interface ServedOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly resource: Resource<KubeObject>;
}

/** Whether the API server serves a resource. Its definition may be applied later. */
export class Served {
  readonly #options: ServedOptions;
  #waiting: Promise<boolean> | undefined;
  #isServed: boolean | undefined;

  constructor(options: ServedOptions) {
    this.#options = options;
  }

  /** Undefined while it is not known. */
  get isServed(): boolean | undefined {
    return this.#isServed;
  }

  /** Resolves with true once it is served; with false when the signal of the first call aborts. */
  readonly until = (signal: AbortSignal): Promise<boolean> => {
    this.#waiting ??= this.#wait(signal);
    return this.#waiting;
  };

  async #wait(signal: AbortSignal): Promise<boolean> {
    const { clock, log, resource } = this.#options;
    while (!signal.aborted) {
      let delayMs = PERIOD_MS;
      try {
        const before = this.#isServed;
        this.#isServed = await this.#ask(signal);
        if (this.#isServed) {
          if (before === false) log.info(`the API server serves ${resource.plural} now`);
          return true;
        }
        if (before === undefined) {
          log.info(
            `the API server does not serve ${resource.plural}.${resource.group}: sidecars follow no routes`,
          );
        }
      } catch (err) {
        if (signal.aborted) break;
        log.warn({ err }, `cannot ask the API server whether it serves ${resource.plural}, retrying`);
        delayMs = Math.max(PERIOD_MS, retryAfterMs(err));
      }
      await sleep(clock, delayMs, signal).catch(() => undefined);
    }
    return false;
  }

  async #ask(signal: AbortSignal): Promise<boolean> {
    const { client, resource } = this.#options;
    try {
      const answer = await client.request('GET', `/apis/${resource.group}/${resource.version}`, { signal });
      return names(answer).includes(resource.plural);
    } catch (err) {
      if (isNotFound(err)) return false;
      throw err;
    }
  }
}

function names(answer: unknown): readonly unknown[] {
  if (typeof answer !== 'object' || answer === null || !('resources' in answer)) return [];
  const { resources } = answer;
  if (!Array.isArray(resources)) return [];
  return resources.map((each: unknown) =>
    typeof each === 'object' && each !== null && 'name' in each ? each.name : undefined,
  );
}

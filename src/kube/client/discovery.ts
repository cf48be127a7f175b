import { ownObjects } from '../../util/json.ts';
import { ifFound, retryAfterMs } from '../api/api-error.ts';
import type { KubeObject } from '../api/object.ts';
import { apiVersionOf, type Resource } from '../api/resource.ts';
import type { Logger } from '../util/log.ts';
import { abortable, sleep } from '../util/waits.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { KubeClient } from './client.ts';

/** Whether the API server serves a resource now, such as one of another project. */
export async function isServed(
  client: Pick<KubeClient, 'request'>,
  resource: Resource<KubeObject>,
  signal?: AbortSignal,
): Promise<boolean> {
  const answer = await ifFound(client.request('GET', `/apis/${apiVersionOf(resource)}`, { signal }));
  return ownObjects(answer, 'resources').some(({ name }) => name === resource.plural);
}

/** The wait between two looks doubles from the first to the longest. */
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 30_000;

interface DiscoveryOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Whether the API server serves a resource that not every cluster has. Its CustomResourceDefinition, or a newer API
 * server, may come later: it is asked for, after 30 s at most, until it is served.
 */
export class ServedResource {
  /** Undefined before the first answer. */
  isServed: boolean | undefined;
  readonly #resource: Resource<KubeObject>;
  readonly #options: DiscoveryOptions;
  readonly #answered = Promise.withResolvers<void>();
  readonly #served = Promise.withResolvers<void>();

  constructor(resource: Resource<KubeObject>, options: DiscoveryOptions) {
    this.#resource = resource;
    this.#options = options;
  }

  /** Resolves with the first answer; with undefined if the signal aborts first. */
  readonly known = async (signal: AbortSignal): Promise<boolean | undefined> => {
    await abortable(this.#answered.promise, signal).catch(() => undefined);
    return this.isServed;
  };

  /** Resolves with true as soon as the resource is served; with false if the signal aborts first. */
  readonly until = async (signal: AbortSignal): Promise<boolean> => {
    await abortable(this.#served.promise, signal).catch(() => undefined);
    return this.isServed === true && !signal.aborted;
  };

  /** Looks until the resource is served, or the signal aborts. Never rejects. */
  readonly run = async (signal: AbortSignal): Promise<void> => {
    const { client, clock, log } = this.#options;
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      let askedMs = 0;
      try {
        this.#answer(await isServed(client, this.#resource, signal));
      } catch (err) {
        if (signal.aborted) return;
        log.warn({ err }, 'cannot read which resources the API server serves, retrying');
        askedMs = retryAfterMs(err);
      }
      if (this.isServed) return;
      await sleep(clock, Math.max(waitMs, askedMs), signal).catch(() => undefined);
    }
  };

  #answer(isServed: boolean): void {
    const name = { resource: `${this.#resource.plural}.${this.#resource.group}` };
    if (isServed && this.isServed === false) this.#options.log.info(name, 'resource is served now');
    if (!isServed && this.isServed === undefined)
      this.#options.log.info(name, 'resource is not served: its watch starts when it is');
    this.isServed = isServed;
    this.#answered.resolve();
    if (isServed) this.#served.resolve();
  }
}

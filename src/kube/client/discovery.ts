import { isRecord } from '../../util/json.ts';
import { ifFound, retryAfterMs } from '../api/api-error.ts';
import type { KubeObject } from '../api/object.ts';
import { apiVersionOf, type Resource } from '../api/resource.ts';
import { abortable } from '../util/linked-abort.ts';
import type { Logger } from '../util/log.ts';
import { sleep } from '../util/sleep.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { KubeClient } from './client.ts';

/** Whether the API server serves a resource now, such as one of another project. */
export async function isServed(
  client: Pick<KubeClient, 'request'>,
  resource: Resource<KubeObject>,
  signal?: AbortSignal,
): Promise<boolean> {
  const answer = await ifFound(client.request('GET', `/apis/${apiVersionOf(resource)}`, { signal }));
  const resources = isRecord(answer) && Array.isArray(answer.resources) ? answer.resources : [];
  return resources.some((each) => isRecord(each) && each.name === resource.plural);
}

/** The wait between two looks doubles from the first to the longest. */
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 30_000;

export interface DiscoveryOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Whether the API server serves a resource. Its CustomResourceDefinition, or a newer API server, may come later. */
export interface Served {
  /** Undefined before the first answer. */
  readonly isServed: boolean | undefined;
  /** Resolves with the first answer; with undefined if the signal aborts first. */
  known(signal: AbortSignal): Promise<boolean | undefined>;
  /** Resolves with true as soon as the resource is served; with false if the signal aborts first. */
  until(signal: AbortSignal): Promise<boolean>;
}

/** Finds resources that not every cluster has. Each is asked for, after 30 s at most, until it is served. */
export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #followed = new Map<string, Followed>();

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /** Call it before `run`. */
  follow(resource: Resource<KubeObject>): Served {
    const name = `${resource.plural}.${apiVersionOf(resource)}`;
    const known = this.#followed.get(name) ?? new Followed(resource, this.#options);
    this.#followed.set(name, known);
    return known;
  }

  /** Looks until all resources are served, or the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from(this.#followed.values(), (each) => each.run(signal)));
  }
}

class Followed implements Served {
  isServed: boolean | undefined;
  readonly #resource: Resource<KubeObject>;
  readonly #options: DiscoveryOptions;
  readonly #answered = Promise.withResolvers<void>();
  readonly #served = Promise.withResolvers<void>();

  constructor(resource: Resource<KubeObject>, options: DiscoveryOptions) {
    this.#resource = resource;
    this.#options = options;
  }

  readonly known = async (signal: AbortSignal): Promise<boolean | undefined> => {
    await abortable(this.#answered.promise, signal).catch(() => undefined);
    return this.isServed;
  };

  readonly until = async (signal: AbortSignal): Promise<boolean> => {
    await abortable(this.#served.promise, signal).catch(() => undefined);
    return this.isServed === true && !signal.aborted;
  };

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      let askedMs = 0;
      try {
        this.#answer(await isServed(this.#options.client, this.#resource, signal));
      } catch (err) {
        if (signal.aborted) return;
        log.warn({ err }, 'cannot read which resources the API server serves, retrying');
        askedMs = retryAfterMs(err);
      }
      if (this.isServed) return;
      await sleep(clock, Math.max(waitMs, askedMs), signal).catch(() => undefined);
    }
  }

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

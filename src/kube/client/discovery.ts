import { isRecord } from '../../util/json.ts';
import { isNotFound, retryAfterMs } from '../api/api-error.ts';
import type { KubeObject } from '../api/object.ts';
import { apiVersionOf, type Resource } from '../api/resource.ts';
import { abortable } from '../util/linked-abort.ts';
import type { Logger } from '../util/log.ts';
import { sleep } from '../util/sleep.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { KubeClient } from './client.ts';

/** The wait between two looks doubles from the first to the longest. */
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 30_000;

export interface DiscoveryOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Whether the API server serves a resource. Its CustomResourceDefinition may be installed later. */
export interface Served {
  /** Undefined before the first answer. */
  readonly isServed: boolean | undefined;
  /** Resolves with the first answer; with undefined if the signal aborts first. */
  known(signal: AbortSignal): Promise<boolean | undefined>;
  /** Resolves with true as soon as the resource is served; with false if the signal aborts first. */
  until(signal: AbortSignal): Promise<boolean>;
}

/**
 * Finds resources whose CustomResourceDefinitions users may install. A look is one request for each version of a group,
 * after 30 s at most. It ends when all are served.
 */
export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #followed = new Map<string, Followed>();

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /** Call it before `run`. */
  follow(resource: Resource<KubeObject>): Served {
    const name = `${resource.plural}.${apiVersionOf(resource)}`;
    const known = this.#followed.get(name) ?? new Followed(resource);
    this.#followed.set(name, known);
    return known;
  }

  /** Looks until all resources are served, or the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      let askedMs = 0;
      try {
        await this.#look(signal);
      } catch (err) {
        if (signal.aborted) return;
        log.warn({ err }, 'cannot read which resources the API server serves, retrying');
        askedMs = retryAfterMs(err);
      }
      if (this.#missing().length === 0) return;
      await sleep(clock, Math.max(waitMs, askedMs), signal).catch(() => undefined);
    }
  }

  #missing(): readonly Followed[] {
    return [...this.#followed.values()].filter(({ isServed }) => isServed !== true);
  }

  async #look(signal: AbortSignal): Promise<void> {
    const names = new Map<string, readonly unknown[]>();
    for (const each of this.#missing()) {
      const version = apiVersionOf(each.resource);
      const known = names.get(version) ?? (await this.#namesIn(version, signal));
      names.set(version, known);
      this.#answer(each, known.includes(each.resource.plural));
    }
  }

  async #namesIn(version: string, signal: AbortSignal): Promise<readonly unknown[]> {
    try {
      const answer = await this.#options.client.request('GET', `/apis/${version}`, { signal });
      const resources = isRecord(answer) && Array.isArray(answer.resources) ? answer.resources : [];
      return resources.filter(isRecord).map(({ name }) => name);
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  }

  #answer(followed: Followed, isServed: boolean): void {
    const { isServed: before, resource } = followed;
    followed.answer(isServed);
    const name = { resource: `${resource.plural}.${resource.group}` };
    if (isServed && before === false) this.#options.log.info(name, 'resource is served now');
    if (!isServed && before === undefined)
      this.#options.log.info(name, 'resource is not served: watching it when its CRD is installed');
  }
}

class Followed implements Served {
  readonly resource: Resource<KubeObject>;
  isServed: boolean | undefined;
  #wakeAnswered = () => {};
  #wakeServed = () => {};
  readonly #answered = new Promise<void>((resolve) => {
    this.#wakeAnswered = resolve;
  });
  readonly #served = new Promise<void>((resolve) => {
    this.#wakeServed = resolve;
  });

  constructor(resource: Resource<KubeObject>) {
    this.resource = resource;
  }

  answer(isServed: boolean): void {
    this.isServed = isServed;
    this.#wakeAnswered();
    if (isServed) this.#wakeServed();
  }

  readonly known = async (signal: AbortSignal): Promise<boolean | undefined> => {
    await abortable(this.#answered, signal).catch(() => undefined);
    return this.isServed;
  };

  readonly until = (signal: AbortSignal): Promise<boolean> =>
    abortable(this.#served, signal).then(
      () => true,
      () => false,
    );
}

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

/** Whether the API server serves a resource that not every cluster has. */
export type ServedResource = ReturnType<typeof servedResource>;

/**
 * Finds out whether the API server serves a resource. Its CustomResourceDefinition, or a newer API server, may come
 * later: it is asked for, after 30 s at most, until it is served.
 */
export function servedResource(resource: Resource<KubeObject>, { client, clock, log }: DiscoveryOptions) {
  const name = { resource: `${resource.plural}.${resource.group}` };
  let state: boolean | undefined;
  const answered = Promise.withResolvers<void>();
  const served = Promise.withResolvers<void>();
  const answer = (now: boolean) => {
    if (now && state === false) log.info(name, 'resource is served now');
    if (!now && state === undefined) log.info(name, 'resource is not served: its watch starts when it is');
    state = now;
    answered.resolve();
    if (now) served.resolve();
  };
  return {
    /** Undefined before the first answer. */
    get isServed(): boolean | undefined {
      return state;
    },

    /** Resolves with the first answer; with undefined if the signal aborts first. */
    async known(signal: AbortSignal): Promise<boolean | undefined> {
      await abortable(answered.promise, signal).catch(() => undefined);
      return state;
    },

    /** Resolves with true as soon as the resource is served; with false if the signal aborts first. */
    async until(signal: AbortSignal): Promise<boolean> {
      await abortable(served.promise, signal).catch(() => undefined);
      return state === true && !signal.aborted;
    },

    /** Looks until the resource is served, or the signal aborts. Never rejects. */
    async run(signal: AbortSignal): Promise<void> {
      for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
        let askedMs = 0;
        try {
          answer(await isServed(client, resource, signal));
        } catch (err) {
          if (signal.aborted) return;
          log.warn({ err }, 'cannot read which resources the API server serves, retrying');
          askedMs = retryAfterMs(err);
        }
        if (state) return;
        await sleep(clock, Math.max(waitMs, askedMs), signal).catch(() => undefined);
      }
    },
  };
}

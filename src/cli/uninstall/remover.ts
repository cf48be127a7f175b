import type { Operation } from 'fast-json-patch';
import { ifFound, isNotFound, isOvertaken } from '../../kube/api/api-error.ts';
import { type KubeObject, refOf } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import type { KubeClient, ListOptions } from '../../kube/client/client.ts';
import { UsageError } from '../../kube/util/errors.ts';
import { sleep } from '../../kube/util/waits.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { listed } from '../../util/clip.ts';
import { PROGRAM } from '../../util/identity.ts';

/** Selects the objects of the manifests, and those that the operator creates. */
export const OURS = { labelSelector: `app=${PROGRAM}` };

/** The objects of a kind; none if the cluster does not have the kind. */
export async function objectsOf<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  options: ListOptions = {},
): Promise<readonly T[]> {
  const found = await ifFound(client.list(resource, options, (item) => resource.decode(item)));
  return found?.items ?? [];
}

/** Such as `pod default/web` or `clusterrole envoy-initializer`. */
export function nameOf({ kind }: Resource<KubeObject>, { metadata }: KubeObject): string {
  const { namespace, name } = metadata;
  return `${kind.toLowerCase()} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

const POLL_MS = 1_000;

/** Deletes objects, says which, and waits until they are gone. */
export class Remover {
  readonly client: KubeClient;
  /** Called with each line of progress. */
  readonly say: (line: string) => void;
  readonly #clock: Clock;
  /** The limit of each wait. */
  readonly #timeoutMs: number;

  constructor(client: KubeClient, clock: Clock, timeoutMs: number, say: (line: string) => void) {
    this.client = client;
    this.say = say;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** Deletes the selected objects and waits until they are gone; others of their names may come meanwhile. */
  async removeAll(
    resource: Resource<KubeObject>,
    selection: ListOptions,
    propagationPolicy?: 'Foreground',
  ): Promise<void> {
    const find = () => objectsOf(this.client, resource, selection);
    const found = await find();
    for (const object of found) await this.delete(resource, object, propagationPolicy);
    const uids = new Set(found.map(({ metadata }) => metadata.uid));
    await this.untilGone(async () => {
      const rest = found.length === 0 ? [] : await find();
      return listed(
        rest.filter(({ metadata }) => uids.has(metadata.uid)).map((each) => nameOf(resource, each)),
      );
    });
  }

  /** Starts the deletion of an object, and says so. It may be gone already. */
  async delete(
    resource: Resource<KubeObject>,
    object: KubeObject,
    propagationPolicy?: 'Foreground',
  ): Promise<void> {
    const { uid } = object.metadata;
    const options = { preconditions: { uid }, ...(propagationPolicy && { propagationPolicy }) };
    const deletion = this.client.delete(resource, refOf(object), options);
    if (await ifFound(deletion.then(() => true))) this.say(`deleted ${nameOf(resource, object)}`);
  }

  /**
   * Patches an object, and again as it is then where another client was faster. It may be gone already, or need no
   * patch any more.
   */
  async patch<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    operationsFor: (live: T) => readonly Operation[],
  ): Promise<void> {
    const ref = refOf(object);
    for (let live: T | undefined = object; live; live = await ifFound(this.client.get(resource, ref))) {
      const operations = operationsFor(live);
      if (operations.length === 0 || live.metadata.uid !== object.metadata.uid) return;
      try {
        await this.client.jsonPatch(resource, ref, operations);
        return;
      } catch (err) {
        if (!isOvertaken(err) && !isNotFound(err)) throw err;
      }
    }
  }

  /**
   * Looks each second until nothing remains, and says what it waits for, whenever that changes.
   * @throws UsageError with what remains when the time is over
   */
  async untilGone(remaining: () => Promise<string>): Promise<void> {
    const end = this.#clock.now() + this.#timeoutMs;
    let said = '';
    for (let rest = await remaining(); rest !== ''; rest = await remaining()) {
      if (this.#clock.now() > end)
        throw new UsageError(
          `waited ${this.#timeoutMs / 1000} s for ${rest} to be deleted: see docs/install.md#uninstall, and run this command again`,
        );
      if (rest !== said) this.say(`waiting for ${rest} to be deleted`);
      said = rest;
      await sleep(this.#clock, POLL_MS);
    }
  }
}

import { keyOf } from '../../kube/api/object.ts';
import { apiVersionOf } from '../../kube/api/resource.ts';
import type { EventDetails, EventRecorder } from '../../kube/events/events.ts';
import { NETWORKS } from '../api/resources.ts';
import type { Network, NetworkStatus } from '../api/types.ts';
import type { NetworkWriter } from './network-writer.ts';
import { changesCounts, isChange, isRecount } from './status.ts';
import type { StatusThrottle } from './status-throttle.ts';

export interface StatusWriterOptions {
  readonly writer: Pick<NetworkWriter, 'writeStatus'>;
  readonly events: EventRecorder;
  readonly throttle: StatusThrottle;
  /** The time of day. */
  readonly now: () => Date;
}

/** Reports the state of a Network in its status and in Events. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** The time of day in the format of conditions: RFC 3339, whole seconds. */
  now(): string {
    return this.#options
      .now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
  }

  /**
   * Writes a changed status, then the Events. This order prevents a second Event after a failed write. A status that
   * changes only counts may have to wait: then it resolves with the milliseconds until the retry.
   */
  async report(
    network: Network,
    status: NetworkStatus,
    events: readonly EventDetails[],
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { writer, throttle } = this.#options;
    const key = keyOf(network);
    const waitMs = isRecount(network.status, status) ? throttle.waitMs(key) : 0;
    if (waitMs > 0) return waitMs;
    if (isChange(network.status, status)) await writer.writeStatus(network, status, signal);
    if (changesCounts(network.status, status)) throttle.written(key);
    for (const details of events) this.tell(network, details);
    return undefined;
  }

  tell({ metadata }: Network, details: EventDetails): void {
    // Items of a list come without apiVersion and kind.
    const regarding = { apiVersion: apiVersionOf(NETWORKS), kind: NETWORKS.kind, metadata };
    this.#options.events.event(regarding, details);
  }
}

import { type KubeObject, keyOf } from '../kube/object.ts';
import { apiVersionOf } from '../kube/resource.ts';
import type { CountPace } from './count-pace.ts';
import type { NetworkWriter } from './network-writer.ts';
import { NETWORKS } from './resources.ts';
import { changesCounts, isChange, isRecount } from './status.ts';
import type { Notice } from './transitions.ts';
import type { Network, NetworkStatus } from './types.ts';

/** Where Events go; `EventRecorder` of kube/ is one. */
export interface NoticeSink {
  event(regarding: KubeObject, notice: Notice): void;
}

export interface ReporterOptions {
  readonly writer: Pick<NetworkWriter, 'writeStatus'>;
  readonly events: NoticeSink;
  readonly pace: CountPace;
  /** The time of day. */
  readonly now: () => Date;
}

/** Tells users how a Network is: by its status, and by Events. */
export class Reporter {
  readonly #options: ReporterOptions;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** The time of day as conditions carry it: RFC 3339, whole seconds. */
  now(): string {
    return this.#options
      .now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
  }

  /**
   * Writes the status where it says something new, then the Events: a failed write is repeated, an Event is not.
   * What only counts pods otherwise may have to wait: resolves with the milliseconds after which to come again.
   */
  async report(
    network: Network,
    status: NetworkStatus,
    notices: readonly Notice[],
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { writer, pace } = this.#options;
    const key = keyOf(network);
    const waitMs = isRecount(network.status, status) ? pace.waitMs(key) : 0;
    if (waitMs > 0) return waitMs;
    if (isChange(network.status, status)) await writer.writeStatus(network, status, signal);
    if (changesCounts(network.status, status)) pace.written(key);
    for (const notice of notices) this.tell(network, notice);
    return undefined;
  }

  tell({ metadata }: Network, notice: Notice): void {
    // Items of a list come without apiVersion and kind.
    const regarding = { apiVersion: apiVersionOf(NETWORKS), kind: NETWORKS.kind, metadata };
    this.#options.events.event(regarding, notice);
  }
}

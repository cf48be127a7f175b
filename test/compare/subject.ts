import type { KubeConfig } from '@kubernetes/client-node';

/** What an informer told its handlers: `add first`, `update first`, `delete first`. */
export type Told = (event: string) => void;

/** Where and how a subject is to watch ConfigMaps. */
export interface Surroundings {
  readonly config: KubeConfig;
  readonly namespace: string;
  /** Objects in one page of a list. */
  readonly pageSize?: number;
  /** Called with each event; it may throw. */
  readonly told: Told;
}

/** An informer under test, running. */
export interface Running {
  /** The names of the objects that it has. */
  cached(): readonly string[];
  /** Adds a handler while it runs. */
  join(told: Told): void;
  /** Stops it, and waits for nothing. */
  stop(): void;
  /** Ends its connections, where it lets one do that. */
  close(): Promise<void>;
}

/** One way to have an informer. */
export interface Subject {
  readonly name: string;
  start(surroundings: Surroundings): Running;
}

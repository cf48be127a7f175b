import type { KubeObject } from '../api/object.ts';

export interface EventDetails {
  readonly type: 'Normal' | 'Warning';
  /** The reason, as a PascalCase word that programs may match: `InvalidTemplate`. At most 128 bytes. */
  readonly reason: string;
  /** The action that was done or refused, as a PascalCase word: `Inject`. At most 128 bytes. */
  readonly action: string;
  /** A text for users, cut to 1024 bytes. */
  readonly note: string;
  /** Whether another note makes another Event, because it says what holds now. By default it is a repetition. */
  readonly eachNote?: boolean;
  /** Another object that is involved, such as the Network of a pod. */
  readonly related?: KubeObject;
}

/** Records what happens to objects. `kubectl describe` and `kubectl get events` show it. */
export interface EventRecorder {
  /** Queues the Event and returns at once. Never throws: a lost Event must not fail other work. */
  event(regarding: KubeObject, details: EventDetails): void;
}

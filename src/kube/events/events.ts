import type { KubeObject } from '../api/object.ts';

export interface EventDetails {
  readonly type: 'Normal' | 'Warning';
  /** Why, as a PascalCase word that programs may match: `InvalidTemplate`. At most 128 bytes. */
  readonly reason: string;
  /** What was done or refused, as a PascalCase word: `Inject`. At most 128 bytes. */
  readonly action: string;
  /** For people. What is beyond 1024 bytes is cut off. */
  readonly note: string;
  /** The other object in it, such as the Network of a pod. */
  readonly related?: KubeObject;
}

/** Tells users of an object what happened to it: `kubectl describe` and `kubectl get events` show it. */
export interface EventRecorder {
  /** Takes note and returns at once. Never throws: an Event is worth no other work's failure. */
  event(regarding: KubeObject, details: EventDetails): void;
}

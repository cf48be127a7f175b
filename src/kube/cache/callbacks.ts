import type { EventHandler, Registration } from './listener.ts';

/** The change of an object, by client-node's names; `change` is any of the three. */
export type ObjectVerb = 'add' | 'update' | 'delete' | 'change';
export type ObjectCallback<T> = (object: T) => void;
export type ErrorCallback = (error?: unknown) => void;

/** A callback and its verb. */
export type Subscription<T> =
  | readonly [verb: ObjectVerb, callback: ObjectCallback<T>]
  | readonly [verb: 'connect' | 'error', callback: ErrorCallback];

/** The callbacks of client-node's `on` and `off`: each is an event handler with one method. */
export class Callbacks<T> {
  readonly #addHandler: (handler: EventHandler<T>) => Registration;
  #registered: readonly (readonly [subscription: Subscription<T>, registration: Registration])[] = [];

  constructor(addHandler: (handler: EventHandler<T>) => Registration) {
    this.#addHandler = addHandler;
  }

  /** @throws Error for a verb that does not exist. */
  on(...subscription: Subscription<T>): void {
    for (const single of singles(subscription)) {
      this.#registered = [...this.#registered, [single, this.#addHandler(handlerOf(...single))]];
    }
  }

  /** Removes one registration of a callback. */
  off(...subscription: Subscription<T>): void {
    for (const [verb, callback] of singles(subscription)) {
      const found = this.#registered.find(([each]) => each[0] === verb && each[1] === callback);
      found?.[1].remove();
      this.#registered = this.#registered.filter((each) => each !== found);
    }
  }
}

function singles<T>(subscription: Subscription<T>): readonly Subscription<T>[] {
  const [verb, callback] = subscription;
  if (verb !== 'change') return [subscription];
  return [
    ['add', callback],
    ['update', callback],
    ['delete', callback],
  ];
}

function handlerOf<T>(...[verb, callback]: Subscription<T>): EventHandler<T> {
  switch (verb) {
    case 'add':
      return { onAdd: (object) => callback(object) };
    case 'update':
      return { onUpdate: (_, object) => callback(object) };
    case 'delete':
      return { onDelete: (object) => callback(object) };
    case 'connect':
      return { onConnect: () => callback() };
    case 'error':
      return { onError: (error) => callback(error) };
    default:
      throw new Error(`unknown verb ${verb}: expected add, update, delete, change, connect or error`);
  }
}

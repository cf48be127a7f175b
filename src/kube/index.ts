/** A library for controllers: caches, work queues, leader election, Events and webhooks, under one Manager. */
export type { AdmissionAnswer, ReviewHandler } from './admission/response.ts';
export type { AdmissionRequest } from './admission/review.ts';
export {
  ApiError,
  isAlreadyExists,
  isConflict,
  isExpired,
  isForbidden,
  isInvalid,
  isNotFound,
  TransportError,
} from './api/api-error.ts';
export {
  CONFIG_MAPS,
  type ConfigMap,
  NAMESPACES,
  PODS,
  SECRETS,
  type Secret,
} from './api/core-resources.ts';
export { type KubeObject, keyOf, type ObjectKey, type ObjectMeta, splitKey } from './api/object.ts';
export { decodeObject, type Resource } from './api/resource.ts';
export { type EventHandler, Informer, type InformerOptions, type Registration } from './cache/informer.ts';

export type { WatchSelection } from './cache/shared-informers.ts';
export type { IndexFunction, Lister } from './cache/store.ts';
export { KubeClient } from './client/client.ts';
export type { Served } from './client/discovery.ts';
export { loadKubeConfig } from './client/kubeconfig/load-config.ts';
export { Transport } from './client/transport.ts';
export type { Reconcile, Result } from './controller/controller.ts';
export { TerminalError } from './controller/controller.ts';
export type { EventDetails, EventRecorder } from './events/events.ts';
export type { ManagedController, ReconcileRequest } from './manager/managed-controller.ts';
export { type CreateManagerOptions, Manager, type ManagerOptions } from './manager/manager.ts';
export { stopSignal } from './manager/shutdown.ts';
export type { Logger } from './util/log.ts';
export { type Clock, systemClock } from './workqueue/clock.ts';

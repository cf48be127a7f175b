/** Kept on a Network until its real network is gone. */
export const NETWORK_FINALIZER = 'samplecrd.k8s.io/network-cleanup';

/** Names us in managedFields, in Events and in `app.kubernetes.io/managed-by`. */
export const FIELD_MANAGER = 'envoy-initializer';

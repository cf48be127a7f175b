/** The name of the program. Its namespace, Service, ConfigMap and webhook configurations have it unless told otherwise. */
export const PROGRAM = 'envoy-initializer';

/** The labels of each object that the program creates. */
export const OWN_LABELS = { app: PROGRAM };

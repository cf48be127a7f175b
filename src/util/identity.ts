/** The name of the program, and the default name of its namespace, Service, ConfigMap and webhook configurations. */
export const PROGRAM = 'envoy-initializer';

/** The labels of each object that the program creates. */
export const OWN_LABELS = { app: PROGRAM };

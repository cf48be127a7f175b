/** The operator in managedFields, for the caBundle alone. */
export const CA_FIELD_MANAGER = 'envoy-initializer-ca';

/**
 * The annotation that marks a Secret as ours, as long as it names the certificate in the Secret. Whoever writes another
 * certificate, such as cert-manager or kubectl, takes the Secret over.
 */
export const OWN_CERTIFICATE = 'initializer.kubernetes.io/envoy-certificate-sha256';

/** The Secret of the key pair. */
export const TLS_SECRET = 'envoy-initializer-tls';

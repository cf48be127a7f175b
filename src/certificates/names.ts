/** The operator's field manager for the caBundle and the owner of webhook configurations. */
export const CA_FIELD_MANAGER = 'envoy-initializer-ca';

/**
 * The annotation that marks a Secret as ours while it names the certificate in the Secret. A client that writes
 * another certificate, such as cert-manager or kubectl, takes over the Secret.
 */
export const OWN_CERTIFICATE = 'initializer.kubernetes.io/envoy-certificate-sha256';

/** The name of the Secret with the key pair. */
export const TLS_SECRET = 'envoy-initializer-tls';

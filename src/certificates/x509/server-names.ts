import { isIP } from 'node:net';

/** The names by which clients call a server. Its certificate must have them. */
export interface ServerNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

export interface ServerNamesOptions {
  readonly service: string;
  readonly namespace: string;
  readonly clusterDomain?: string;
  /** The URL of a webhook that runs outside the cluster. */
  readonly webhookUrl?: string | undefined;
}

/**
 * The names of a Service. The API server calls a webhook by `service.namespace.svc`
 * (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#service-reference);
 * users and probes use the others.
 * @throws TypeError if the URL is invalid.
 */
export function serverNames({
  service,
  namespace,
  clusterDomain = 'cluster.local',
  webhookUrl,
}: ServerNamesOptions): ServerNames {
  const inNamespace = `${service}.${namespace}`;
  const dnsNames = [service, inNamespace, `${inNamespace}.svc`, `${inNamespace}.svc.${clusterDomain}`];
  if (webhookUrl === undefined) return { dnsNames, ipAddresses: [] };
  // In a URL, an IPv6 address is in brackets.
  const host = new URL(webhookUrl).hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) ? { dnsNames, ipAddresses: [host] } : { dnsNames: [...dnsNames, host], ipAddresses: [] };
}

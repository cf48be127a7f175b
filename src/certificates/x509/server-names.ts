import { isIP } from 'node:net';

/** What clients call a server by, and its certificate therefore has to say. */
export interface ServerNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

export interface ServerNamesOptions {
  readonly service: string;
  readonly namespace: string;
  readonly clusterDomain?: string;
  /** Where the API server finds a webhook that runs outside the cluster. */
  readonly webhookUrl?: string | undefined;
}

/**
 * The names of a Service: the API server calls a webhook by `service.namespace.svc`
 * (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#service-reference), people
 * and probes by the others.
 * @throws TypeError when the URL is none.
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
  // A URL writes an IPv6 address in brackets.
  const host = new URL(webhookUrl).hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) ? { dnsNames, ipAddresses: [host] } : { dnsNames: [...dnsNames, host], ipAddresses: [] };
}

import ipaddr from 'ipaddr.js';
import { suggest } from '../../../util/suggest.ts';
import { isDnsLabel, isDnsSubdomain, isEnvName, isPortName } from '../names.ts';
import type { TextFormat } from '../schema/schema.ts';

/** The fields that the downward API can give to a pod (the API server's validation). */
const FIELD_PATHS: readonly string[] = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

interface Format {
  readonly test: (text: string) => boolean;
  /** What the text must be, as the end of a sentence. */
  readonly must: string;
}

const FORMATS: Readonly<Record<TextFormat, Format>> = {
  'absolute-path': { test: (text) => text.startsWith('/'), must: 'be a path that begins with "/"' },
  'csi-driver': {
    test: (text) => text.length <= 63 && isDnsSubdomain(text.toLowerCase()),
    must: 'be a name of at most 63 characters, such as csi.example.com',
  },
  'dns-label': {
    test: isDnsLabel,
    must: 'be at most 63 lower-case letters, digits and hyphens, such as my-sidecar',
  },
  'dns-subdomain': { test: isDnsSubdomain, must: 'be a name such as my-object or example.com' },
  'dns-search': {
    test: (text) => text === '.' || isDnsSubdomain(text.replaceAll('_', '0').replace(/\.$/, '')),
    must: 'be a DNS name',
  },
  'env-name': { test: isEnvName, must: 'be printable ASCII without "="' },
  'field-path': {
    test: (text) => FIELD_PATHS.includes(text) || /^metadata\.(annotations|labels)\['[^']+'\]$/.test(text),
    must: "be a field such as metadata.name, status.podIP or metadata.labels['app']",
  },
  'inner-path': {
    test: (text) => !text.startsWith('/') && !text.split('/').includes('..'),
    must: 'be a relative path without ".."',
  },
  ip: { test: isIp, must: 'be an IPv4 or IPv6 address' },
  'port-name': {
    test: isPortName,
    must: 'be at most 15 lower-case letters, digits and hyphens, with a letter',
  },
  'resource-field': {
    test: (text) => /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-[0-9]+[KMG]i)$/.test(text),
    must: 'be a field such as limits.cpu or requests.memory',
  },
  sysctl: {
    test: (text) => /^[a-z0-9][-a-z0-9_./]*$/.test(text),
    must: 'be a name such as net.ipv4.ip_unprivileged_port_start',
  },
};

/** What is wrong with a text of this format; undefined if it is valid. */
export function formatFault(text: string, format: TextFormat): string | undefined {
  const { test, must } = FORMATS[format];
  if (test(text)) return undefined;
  const meant = format === 'field-path' ? suggest(text, FIELD_PATHS) : undefined;
  return `must ${must}${meant ? `: did you mean ${meant}?` : ''}`;
}

function isIp(text: string): boolean {
  return !text.includes('%') && (ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text));
}

import ipaddr from 'ipaddr.js';
import type { Findings } from './fault.ts';
import { isArray, type JsonObject, own, ownString } from './json.ts';
import { isDnsSubdomain, isLabelValue, isQualifiedName } from './names.ts';
import type { Path } from './path.ts';
import { duplicates, items, matching } from './rules.ts';

/** What the API server would refuse in the fields of the pod itself. */
export function* podFindings(spec: JsonObject, path: Path): Findings {
  for (const [secret, at] of items(spec, 'imagePullSecrets', path)) {
    if (!isDnsSubdomain(ownString(secret, 'name') ?? '')) {
      yield { path: [...at, 'name'], message: 'must be the name of a Secret' };
    }
  }
  yield* duplicates(items(spec, 'imagePullSecrets', path), (secret) => ownString(secret, 'name'), 'name');
  for (const [alias, at] of items(spec, 'hostAliases', path)) {
    yield* matching(alias, 'ip', at, isIp, 'must be an IPv4 or IPv6 address');
    yield* nameFindings(alias, 'hostnames', at);
  }
  yield* duplicates(items(spec, 'hostAliases', path), (alias) => ownString(alias, 'ip'), 'ip');
  const dns = own(spec, 'dnsConfig');
  const nameservers = own(dns, 'nameservers');
  for (const [index, server] of isArray(nameservers) ? nameservers.entries() : []) {
    if (!isIp(String(server))) {
      yield {
        path: [...path, 'dnsConfig', 'nameservers', index],
        message: 'must be an IPv4 or IPv6 address',
      };
    }
  }
}

function* nameFindings(holder: JsonObject, field: string, path: Path): Findings {
  const names = own(holder, field);
  for (const [index, name] of isArray(names) ? names.entries() : []) {
    if (!isDnsSubdomain(String(name))) yield { path: [...path, field, index], message: 'must be a DNS name' };
  }
}

/** What the API server would refuse in labels and annotations. */
export function* metadataFindings(metadata: JsonObject, path: Path): Findings {
  const labels = Object.entries(own(metadata, 'labels') ?? {});
  const annotations = Object.entries(own(metadata, 'annotations') ?? {});
  for (const [key, value] of labels) {
    yield* keyFindings(key, [...path, 'labels', key]);
    if (!isLabelValue(String(value))) {
      const message =
        'must be at most 63 letters, digits, ".", "_" and "-", the first and last a letter or digit';
      yield { path: [...path, 'labels', key], message };
    }
  }
  for (const [key] of annotations) {
    // Annotation keys are checked in lower case by the API server (ValidateAnnotations).
    yield* keyFindings(key.toLowerCase(), [...path, 'annotations', key]);
  }
}

function* keyFindings(key: string, path: Path): Findings {
  if (!isQualifiedName(key)) yield { path, message: 'must be a key such as app or example.com/team' };
}

function isIp(text: string): boolean {
  if (text.includes('%')) return false;
  return ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
}

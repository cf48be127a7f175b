import { BlockList, isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

/** Environment variables, like `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

const PORTS: ReadonlyMap<string, string> = new Map([
  ['http:', '80'],
  ['https:', '443'],
]);
/** The names of each variable, in the order in which Go reads them. */
const VARIABLES: ReadonlyMap<string, readonly string[]> = new Map([
  ['http:', ['HTTP_PROXY', 'http_proxy']],
  ['https:', ['HTTPS_PROXY', 'https_proxy']],
]);

/**
 * The URL of a proxy.
 * @throws Error, which names `source`, for a text that is not a URL, and for a proxy that is neither http nor https.
 */
export function parseProxy(text: string, source: string): URL {
  const url = URL.parse(text);
  if (url === null || url.host === '') {
    throw new Error(`${source}: expected the URL of a proxy, got ${JSON.stringify(text)}`);
  }
  if (!PORTS.has(url.protocol)) {
    throw new Error(
      `${source}: expected an http or https proxy, got ${url.protocol.slice(0, -1)}: use another`,
    );
  }
  return url;
}

/**
 * The proxy that the environment names for a server, if any.
 * The rules are those of golang.org/x/net/http/httpproxy, as in kubectl and every client-go program.
 * @throws Error for a proxy that parseProxy() refuses.
 */
export function proxyFromEnvironment(server: URL, environment: Environment): string | undefined {
  const variable = set(environment, VARIABLES.get(server.protocol) ?? []);
  if (!variable || !usesProxy(server, set(environment, ['NO_PROXY', 'no_proxy'])?.value ?? ''))
    return undefined;
  const { name, value } = variable;
  return parseProxy(value.includes('://') ? value : `http://${value}`, name).href;
}

function set(
  environment: Environment,
  names: readonly string[],
): { name: string; value: string } | undefined {
  for (const name of names) {
    const value = environment[name];
    if (value) return { name, value };
  }
  return undefined;
}

function usesProxy(server: URL, noProxy: string): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const port = server.port || PORTS.get(server.protocol) || '';
  if (host === 'localhost' || (isIP(host) && isIn(host, '127.0.0.0/8', '::1/128'))) return false;
  return !noProxy.split(',').some((entry) => isExempt(host, port, entry.trim().toLowerCase()));
}

/** Whether an entry of NO_PROXY covers the host: `*`, a CIDR, or an address or a domain with or without a port. */
function isExempt(host: string, port: string, entry: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isIP(host) !== 0 && isIn(host, entry);
  const { name, onPort } = splitPort(entry);
  if (name === '' || (onPort !== undefined && onPort !== port)) return false;
  if (isIP(name)) return isIP(host) !== 0 && isIn(host, `${name}/${isIPv6(name) ? 128 : 32}`);
  return isIP(host) === 0 && isOfDomain(host, name.replace(/^\*\./, '.'));
}

/** `.example.com` covers the names below it, and `example.com` itself, too. */
function isOfDomain(host: string, domain: string): boolean {
  const suffix = domainToASCII(domain.replace(/^\./, ''));
  return suffix !== '' && (host.endsWith(`.${suffix}`) || (!domain.startsWith('.') && host === suffix));
}

function splitPort(entry: string): { readonly name: string; readonly onPort: string | undefined } {
  if (isIPv6(entry)) return { name: entry, onPort: undefined };
  const [, bracketed, plain, onPort] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  return { name: bracketed ?? plain ?? '', onPort };
}

function isIn(address: string, ...cidrs: readonly string[]): boolean {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', bits = ''] = cidr.split('/');
    const longest = isIPv6(network) ? 128 : 32;
    // Go ignores an entry that is not a CIDR.
    if (isIP(network) === 0 || !/^\d+$/.test(bits) || Number(bits) > longest) continue;
    list.addSubnet(network, Number(bits), isIPv6(network) ? 'ipv6' : 'ipv4');
  }
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

import { BlockList, isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

/** Environment variables, like `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/**
 * The URL of a proxy.
 * @throws Error, which names `source`, for a text that is not a URL, and for a proxy that is neither http nor https.
 */
export function parseProxy(text: string, source: string): URL {
  const url = URL.parse(text);
  if (url && url.host !== '' && PORTS[url.protocol] !== undefined) return url;
  const got = url?.host ? `${url.protocol}//` : JSON.stringify(text);
  throw new Error(`${source}: expected the URL of an http or https proxy, got ${got}`);
}

/**
 * The proxy that the environment names for a server, if any: the rules of golang.org/x/net/http/httpproxy, as in every
 * client-go program.
 * @throws Error for a proxy that parseProxy() refuses.
 */
export function proxyFromEnvironment(server: URL, environment: Environment): string | undefined {
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const settingOf = (variable: string) => environment[variable] || environment[variable.toLowerCase()] || '';
  const proxy = settingOf(name);
  if (proxy === '' || !usesProxy(server, settingOf('NO_PROXY'))) return undefined;
  return parseProxy(proxy.includes('://') ? proxy : `http://${proxy}`, name).href;
}

function usesProxy(server: URL, noProxy: string): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const port = server.port || PORTS[server.protocol] || '';
  if (host === 'localhost' || (isIP(host) && isIn(host, '127.0.0.0/8', '::1/128'))) return false;
  return !noProxy.split(',').some((entry) => isExempt(host, port, entry.trim().toLowerCase()));
}

/** Whether an entry of NO_PROXY covers the host: `*`, a CIDR, or an address or a domain with or without a port. */
function isExempt(host: string, port: string, entry: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isIP(host) !== 0 && isIn(host, entry);
  const [, bracketed, plain, onPort] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  const name = isIPv6(entry) ? entry : (bracketed ?? plain ?? '');
  if (name === '' || (onPort !== undefined && !isIPv6(entry) && onPort !== port)) return false;
  if (isIP(name)) return isIP(host) !== 0 && isIn(host, `${name}/${isIPv6(name) ? 128 : 32}`);
  return isIP(host) === 0 && isOfDomain(host, name.replace(/^\*\./, '.'));
}

/** `.example.com` covers the names below it, and `example.com` itself, too. */
function isOfDomain(host: string, domain: string): boolean {
  const suffix = domainToASCII(domain.replace(/^\./, ''));
  return suffix !== '' && (host.endsWith(`.${suffix}`) || (!domain.startsWith('.') && host === suffix));
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

import { expect, test } from '@jest/globals';
import { proxyFromEnvironment } from '../../../../../src/kube/client/kubeconfig/proxy.ts';

const API = 'https://api.example.com:6443';

function proxyFor(server: string, environment: Record<string, string>): string | undefined {
  return proxyFromEnvironment(new URL(server), environment);
}

// biome-ignore format: a line for each case
test.each([
  ['is that for https', API, { HTTPS_PROXY: 'http://proxy:3128', HTTP_PROXY: 'http://other' }, 'http://proxy:3128/'],
  ['is not that for http', API, { HTTP_PROXY: 'http://proxy:3128' }, undefined],
  ['is that for http', 'http://api.example.com', { HTTP_PROXY: 'http://proxy' }, 'http://proxy/'],
  ['may be written in lower case', API, { https_proxy: 'http://proxy' }, 'http://proxy/'],
  ['is the one in upper case of two', API, { https_proxy: 'http://a', HTTPS_PROXY: 'http://b' }, 'http://b/'],
  ['is the other of two where one is empty', API, { https_proxy: 'http://a', HTTPS_PROXY: '' }, 'http://a/'],
  ['may be a host alone', API, { HTTPS_PROXY: 'localhost' }, 'http://localhost/'],
  ['may be a host and a port', API, { HTTPS_PROXY: 'cache.corp:1234' }, 'http://cache.corp:1234/'],
  ['may be spoken to by TLS', API, { HTTPS_PROXY: 'https://proxy' }, 'https://proxy/'],
  ['is not that for everything', API, { ALL_PROXY: 'http://proxy' }, undefined],
  ['is none', API, {}, undefined],
])('the proxy of the environment %s', (_, server, environment, expected) => {
  expect(proxyFor(server, environment)).toBe(expected);
});

test.each([
  ['socks5://127.0.0.1:1080', /^HTTPS_PROXY: expected the URL of an http or https proxy, got socks5:/],
  ['http://', /^HTTPS_PROXY: expected .* got "http:\/\/"$/],
])('the proxy %s of the environment is refused with the name of its variable', (proxy, message) => {
  expect(() => proxyFor(API, { HTTPS_PROXY: proxy })).toThrow(message);
});

test('the proxy of the environment is not read when NO_PROXY covers the server', () => {
  expect(proxyFor(API, { HTTPS_PROXY: 'socks5://127.0.0.1', NO_PROXY: 'api.example.com' })).toBeUndefined();
});

/** The cases of golang.org/x/net/http/httpproxy (proxy_test.go, TestUseProxy). */

const NO_PROXY =
  'foobar.com, .barbaz.net, *.wildcard.io, 192.168.1.1, 192.168.1.2:81, 192.168.1.3:80, 10.0.0.0/30, 2001:db8::52:0:1, [2001:db8::52:0:2]:443, [2001:db8::52:0:3]:80, 2002:db8:a::45/64';
const DIRECT = `localhost 127.0.0.1 127.0.0.2 [::1] 192.168.1.1 192.168.1.3 10.0.0.2 [2001:db8::52:0:1]
    [2001:db8::52:0:3] [2002:db8:a::123] www.barbaz.net foobar.com www.foobar.com
    nested.wildcard.io`;
const PROXIED = `[::2] 192.168.1.2 192.168.1.4 [2001:db8::52:0:2] [fe80::424b:c8be:1643:a1b6] barbaz.net
    foofoobar.com baz.com localhost.net local.localhost barbarbaz.net wildcard.io awildcard.io`;
const CASES = [DIRECT, PROXIED].flatMap((hosts, proxied) =>
  hosts.split(/\s+/).map((host) => [host, proxied === 1] as const),
);

test.each(CASES)('NO_PROXY has its meaning of Go for %s: by the proxy: %s', (host, proxied) => {
  const proxy = proxyFor(`https://${host}:80`, { HTTPS_PROXY: 'http://proxy', NO_PROXY });
  expect(proxy !== undefined).toBe(proxied);
});

test.each(CASES)('NO_PROXY covers %s by *, as in Go', (host) => {
  expect(proxyFor(`https://${host}:80`, { HTTPS_PROXY: 'http://proxy', NO_PROXY: '*' })).toBeUndefined();
});

test.each([
  [':1', true],
  ['', true],
  ['a,*', false],
  ['*:6443', true],
  ['.example.com', false],
  ['api.example.com:6443', false],
  ['api.example.com:443', true],
  ['EXAMPLE.com', false],
  ['10.0.0.0/99', true],
  ['nonsense/8', true],
  ['[', true],
])('NO_PROXY of %j before api.example.com is as in Go: by the proxy: %s', (noProxy, proxied) => {
  const proxy = proxyFor(API, { HTTPS_PROXY: 'http://proxy', no_proxy: noProxy });
  expect(proxy !== undefined).toBe(proxied);
});

test.each(['.示例.com', '示例.com', 'xn--fsq092h.com'])(
  'NO_PROXY of %s covers a name that is not ASCII',
  (noProxy) => {
    expect(
      proxyFor('https://www.示例.com', { HTTPS_PROXY: 'http://proxy', NO_PROXY: noProxy }),
    ).toBeUndefined();
  },
);

test('NO_PROXY of a CIDR with host bits covers its addresses', () => {
  const environment = { HTTPS_PROXY: 'http://proxy', NO_PROXY: '10.96.7.7/12' };
  expect(proxyFor('https://10.96.0.1', environment)).toBeUndefined();
  expect(proxyFor('https://10.112.0.1', environment)).toBe('http://proxy/');
});

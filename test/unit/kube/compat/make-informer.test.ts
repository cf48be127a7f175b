import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { KubeConfig, V1ConfigMap } from '@kubernetes/client-node';
import { makeInformer } from '../../../../src/kube/compat/index.ts';
import { plainKubeConfig } from '../../../support/kube/scripted-client.ts';
import { added, configMap, deleted, listOf } from '../../../support/kube/scripted-objects.ts';
import { ScriptedServer } from '../../../support/kube/scripted-server.ts';
import { until } from '../../../support/time/until.ts';

let server: ScriptedServer;
let config: KubeConfig;
beforeEach(async () => {
  server = await ScriptedServer.start();
  config = plainKubeConfig(server.port);
});
afterEach(() => server.close());

const PATH = '/api/v1/namespaces/shop/configmaps';
const unused = () => Promise.reject(new Error('the list function was called'));

describe('makeInformer', () => {
  test.each([
    '/api/v1/configmaps',
    '/api/v1/namespaces',
    PATH,
    '/apis/apps/v1/deployments',
    '/apis/example.com/v1beta1/namespaces/shop/things',
  ])('watches the collection at %s', async (path) => {
    const informer = makeInformer(config, path, unused, 'app=shop');
    void informer.start();
    const request = await server.next();
    expect([request.path, request.query.get('labelSelector')]).toEqual([path, 'app=shop']);
    await informer.stop();
  });

  test.each([
    '',
    '/',
    '/api/v1',
    'api/v1/pods',
    '/apis/v1/pods/',
    '/api/v1/namespaces/shop/pods/one',
    '/version',
  ])('refuses %j, which does not name a collection', (path) => {
    expect(() => makeInformer(config, path, unused)).toThrow(`expected a path such as`);
  });

  test('does nothing before its start', async () => {
    makeInformer(config, PATH, unused);
    await new Promise(setImmediate);
    expect(server.requests).toBe(0);
  });

  test('reports objects and caches them, and continues after an error', async () => {
    const informer = makeInformer<V1ConfigMap>(config, PATH, unused);
    const heard: string[] = [];
    informer.on('connect', () => heard.push('connect'));
    informer.on('error', (error) => heard.push(`error ${error.status}`));
    informer.on('change', ({ metadata }) => heard.push(`${metadata?.name}`));
    const starting = informer.start();
    (await server.next()).fail(404);
    (await server.next()).answer(listOf(2, [configMap('a', 1)]));
    await starting;
    (await server.next()).stream(deleted(configMap('a', 3)), added(configMap('b', 4)));
    await until(() => heard.length === 5);
    expect(heard).toEqual(['error 404', 'a', 'connect', 'a', 'b']);
    expect(informer.get('b', 'shop')?.metadata?.resourceVersion).toBe('4');
    expect(informer.list('shop')).toHaveLength(1);
    await informer.stop();
  });

  test('emits a warning when a callback throws', async () => {
    const informer = makeInformer(config, PATH, unused);
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    informer.on('add', () => {
      throw new Error('thrown by a callback');
    });
    void informer.start();
    (await server.next()).answer(listOf(2, [configMap('a', 1)]));
    await until(() => warn.mock.calls.length > 0);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('thrown by a callback'));
    warn.mockRestore();
    await informer.stop();
  });
});

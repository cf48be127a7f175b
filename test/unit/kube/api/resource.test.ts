import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import {
  apiVersionOf,
  decodeObject,
  type Resource,
  resourcePath,
} from '../../../../src/kube/api/resource.ts';
import { configMaps } from '../../../support/kube/scripted-objects.ts';

const networks: Resource<KubeObject> = {
  group: 'samplecrd.k8s.io',
  version: 'v1',
  kind: 'Network',
  plural: 'networks',
  namespaced: true,
  decode: decodeObject,
};
const nodes: Resource<KubeObject> = { ...configMaps, kind: 'Node', plural: 'nodes', namespaced: false };

describe('resource paths', () => {
  test.each([
    [
      'an object of the core group',
      configMaps,
      { namespace: 'shop', name: 'cart' },
      '/api/v1/namespaces/shop/configmaps/cart',
    ],
    [
      'an object of a named group',
      networks,
      { namespace: 'shop', name: 'n' },
      '/apis/samplecrd.k8s.io/v1/namespaces/shop/networks/n',
    ],
    [
      'the collection of a namespace',
      configMaps,
      { namespace: 'shop' },
      '/api/v1/namespaces/shop/configmaps',
    ],
    ['all namespaces', configMaps, {}, '/api/v1/configmaps'],
    ['all namespaces, as Go writes it', configMaps, { namespace: '' }, '/api/v1/configmaps'],
    [
      'a cluster-scoped object, with any namespace',
      nodes,
      { namespace: 'shop', name: 'n1' },
      '/api/v1/nodes/n1',
    ],
    [
      'a name with characters that need escaping',
      nodes,
      { name: 'system:node?x#y é' },
      '/api/v1/nodes/system%3Anode%3Fx%23y%20%C3%A9',
    ],
  ])('%s', (_, resource, target, path) => {
    expect(resourcePath(resource, target)).toBe(path);
  });

  test('end with the subresource', () => {
    expect(resourcePath(networks, { namespace: 'shop', name: 'n' }, 'status')).toBe(
      '/apis/samplecrd.k8s.io/v1/namespaces/shop/networks/n/status',
    );
  });

  // The server unescapes before it routes, so escaping does not protect from these.
  test.each(['..', '.', '', 'a/b', '../secrets', 'a%2fb'])('refuse the name %j', (name) => {
    expect(() => resourcePath(configMaps, { namespace: 'shop', name })).toThrow(TypeError);
    if (name !== '')
      expect(() => resourcePath(configMaps, { namespace: name, name: 'cart' })).toThrow(TypeError);
  });

  test('have the version alone as apiVersion in the core group', () => {
    expect([configMaps, networks].map(apiVersionOf)).toEqual(['v1', 'samplecrd.k8s.io/v1']);
  });
});

describe('decodeObject', () => {
  test.each([undefined, null, 'pod', {}, { metadata: null }, { metadata: {} }, { metadata: { name: 1 } }])(
    'refuses %j',
    (value) => {
      expect(() => decodeObject(value)).toThrow(TypeError);
    },
  );

  test('returns the object itself, not a copy', () => {
    const object = { metadata: { name: 'cart' } };
    expect(decodeObject(object)).toBe(object);
  });
});

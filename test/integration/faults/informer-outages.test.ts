import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { KubeConfig } from '@kubernetes/client-node';
import { ApiError } from '../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { decodeObject, type Resource } from '../../../src/kube/api/resource.ts';
import { Informer } from '../../../src/kube/cache/informer.ts';
import { KubeClient, type WriteOptions } from '../../../src/kube/client/client.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import type { Ports } from '../../env/control-plane/component-specs.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { freePorts } from '../../env/control-plane/free-ports.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { compactEtcd } from '../../support/faults/etcd-compaction.ts';
import { FaultLab } from '../../support/faults/fault-lab.ts';
import { type FaultProxy, isWatch } from '../../support/faults/fault-proxy.ts';
import { FoldingHandler } from '../../support/faults/folding-handler.ts';
import { configMaps } from '../../support/kube/scripted-objects.ts';
import { untilTrue } from '../../support/time/until-true.ts';

jest.setTimeout(180_000);

let controlPlane: ControlPlane;
let ports: Ports;
let lab: FaultLab;
let proxy: FaultProxy;
let namespace: string;
let started: Watching | undefined;

beforeAll(async () => {
  controlPlane = await startControlPlane({
    choosePorts: async () => {
      const [apiServer = 0, etcd = 0] = await freePorts(2);
      ports = { apiServer, etcd };
      return ports;
    },
    // As 1.31 and 1.33 have it: the first state has to be listed.
    extraApiServerArgs: ['--feature-gates=WatchList=false'],
  });
  lab = await FaultLab.before(controlPlane);
});
afterAll(async () => {
  await lab?.close();
  await controlPlane?.stop();
});

beforeEach(async () => {
  namespace = await lab.namespace();
  proxy = await lab.proxy([]);
});
afterEach(async () => {
  await started?.close();
  await proxy.close();
});

interface Watching {
  readonly informer: Informer<KubeObject>;
  readonly handler: FoldingHandler<KubeObject>;
  readonly errors: unknown[];
  close(): Promise<void>;
}

/** An informer that has synced, unless it cannot. */
async function watching(config: KubeConfig, resource: Resource<KubeObject> = configMaps): Promise<Watching> {
  const transport = new Transport(config, systemClock);
  const stop = new AbortController();
  const errors: unknown[] = [];
  const informer = new Informer<KubeObject>({
    client: new KubeClient({ transport, clock: systemClock }),
    resource,
    namespace,
    clock: systemClock,
    backoff: { firstMs: 20, maxMs: 200 },
    onError: (error) => errors.push(error),
  });
  const handler = new FoldingHandler<KubeObject>();
  informer.addEventHandler(handler);
  const running = informer.run(stop.signal);
  const close = async () => {
    stop.abort();
    await running;
    await transport.close();
  };
  started = { informer, handler, errors, close };
  return started;
}

async function create(name: string, options: WriteOptions = {}): Promise<void> {
  await lab.client.create(configMaps, { metadata: { namespace, name } } as KubeObject, options);
}

const statuses = (errors: readonly unknown[]) =>
  errors.flatMap((error) => (error instanceof ApiError ? [error.status] : []));

/** Waits until the informer and its handler know what the server has, then looks at what the handler was told. */
async function expectRight({ informer, handler }: Watching): Promise<void> {
  const summary = (objects: Iterable<KubeObject>) =>
    [...objects]
      .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
      .sort()
      .join('\n');
  await untilTrue(async () => informer.hasSynced());
  await untilTrue(async () => {
    const { items } = await lab.client.list(configMaps, { namespace });
    const fresh = summary(items.map(decodeObject));
    return fresh === summary(informer.lister.list()) && fresh === summary(handler.view.values());
  });
  expect(handler.violations).toEqual([]);
}

describe('an informer finds out what it missed', () => {
  test('while it was cut off, and the server has forgotten by now (a real 410)', async () => {
    await create('kept');
    await create('gone');
    await create('replaced');
    const watched = await watching(proxy.kubeConfig);
    await expectRight(watched);
    const comeBack = await proxy.outage('refuse');
    await lab.client.delete(configMaps, { namespace, name: 'gone' });
    await lab.client.delete(configMaps, { namespace, name: 'replaced' });
    await create('replaced');
    await create('new');
    await compactEtcd(ports.etcd);
    await controlPlane.restartEtcd();
    await controlPlane.restartApiServer();
    await comeBack();
    await expectRight(watched);
    expect(statuses(watched.errors)).toContain(410);
    await create('later');
    await expectRight(watched);
  });

  test.each<NodeJS.Signals>(['SIGTERM', 'SIGKILL'])('while the API server was down (%s)', async (signal) => {
    await create('before');
    const watched = await watching(proxy.kubeConfig);
    await expectRight(watched);
    await controlPlane.restartApiServer(signal);
    await create('after');
    await expectRight(watched);
  });

  test('while etcd was down', async () => {
    await create('before');
    const watched = await watching(proxy.kubeConfig);
    await expectRight(watched);
    await controlPlane.stopEtcd('SIGKILL');
    await expect(create('during', { timeoutMs: 500 })).rejects.toThrow();
    await controlPlane.startEtcd();
    await create('after');
    await expectRight(watched);
  });
});

test('an informer of a resource that is not installed starts when it is', async () => {
  const widgets: Resource<KubeObject> = {
    group: 'faults.example.com',
    version: 'v1',
    kind: 'Widget',
    plural: 'widgets',
    namespaced: true,
    decode: decodeObject,
  };
  const watched = await watching(proxy.kubeConfig, widgets);
  await untilTrue(async () => statuses(watched.errors).filter((status) => status === 404).length > 1);
  await controlPlane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(definitionOf(widgets)) });
  await untilTrue(async () => watched.informer.hasSynced());
  await lab.client.create(widgets, {
    apiVersion: 'faults.example.com/v1',
    kind: 'Widget',
    metadata: { namespace, name: 'first' },
  } as KubeObject);
  await untilTrue(async () => watched.handler.view.size === 1);
});

test('a server that does not stream the first state is asked once whether it does', async () => {
  await watching(proxy.kubeConfig).then(expectRight);
  proxy.schedule({ kind: 'status', code: 410 });
  const lists = () => proxy.requests.filter(({ url }) => !isWatch(url));
  await untilTrue(async () => {
    proxy.cutHealthyWatches();
    return lists().length === 2;
  });
  expect(proxy.requests.filter(({ url }) => url.includes('sendInitialEvents'))).toHaveLength(1);
});

function definitionOf({ group, version, kind, plural }: Resource<KubeObject>): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural },
      scope: 'Namespaced',
      versions: [
        { name: version, served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
    },
  };
}

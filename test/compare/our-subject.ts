import { Informer } from '../../src/kube/cache/informer.ts';
import type { EventHandler } from '../../src/kube/cache/listener.ts';
import { KubeClient } from '../../src/kube/client/client.ts';
import { Transport } from '../../src/kube/client/transport.ts';
import { systemClock } from '../../src/kube/workqueue/clock.ts';
import { type ConfigMap, configMaps } from '../support/kube/scripted-objects.ts';
import type { Subject, Told } from './subject.ts';

/** Ours, with the bounds and delays that it has unless told otherwise. */
export const ourSubject: Subject = {
  name: 'ours',
  start({ config, namespace, pageSize, told }) {
    const transport = new Transport(config, systemClock);
    const stop = new AbortController();
    const informer = new Informer<ConfigMap>({
      client: new KubeClient({ transport, clock: systemClock }),
      resource: configMaps,
      namespace,
      clock: systemClock,
      // Pages are of lists; and only a list can fail as client-node's does.
      watchList: false,
      ...(pageSize && { pageSize }),
      onError: () => undefined,
    });
    informer.addEventHandler(handlerOf(told));
    const running = informer.run(stop.signal);
    return {
      cached: () => informer.lister.list().map(({ metadata }) => metadata.name),
      join: (late) => void informer.addEventHandler(handlerOf(late)),
      stop: () => stop.abort(),
      close: async () => {
        stop.abort();
        await running;
        await transport.close();
      },
    };
  },
};

function handlerOf(told: Told): EventHandler<ConfigMap> {
  return {
    onAdd: ({ metadata }) => told(`add ${metadata.name}`),
    onUpdate: (_, { metadata }) => told(`update ${metadata.name}`),
    onDelete: ({ metadata }) => told(`delete ${metadata.name}`),
  };
}

import { CoreV1Api, type Informer, type KubernetesObject, type makeInformer } from '@kubernetes/client-node';
import type { Subject, Surroundings, Told } from './subject.ts';

/** The delay of client-node's own example (examples/typescript/informer). */
const RESTART_MS = 5_000;

/** An informer as client-node makes one; restarted when it reports an error, as its example does, or left as it is. */
export function clientNodeSubject(
  name: string,
  make: typeof makeInformer,
  { restarts }: { readonly restarts: boolean },
): Subject {
  return {
    name,
    start({ config, namespace, pageSize, told }: Surroundings) {
      const api = config.makeApiClient(CoreV1Api);
      const informer = make(config, `/api/v1/namespaces/${namespace}/configmaps`, () =>
        api.listNamespacedConfigMap({ namespace, ...(pageSize && { limit: pageSize }) }),
      );
      let timer: NodeJS.Timeout | undefined;
      let stopped = false;
      // It has to be listened to, or an error would be thrown.
      informer.on('error', () => {
        if (restarts && !stopped) timer = setTimeout(() => void informer.start(), RESTART_MS);
      });
      tell(informer, told);
      void informer.start();
      const stop = () => {
        stopped = true;
        clearTimeout(timer);
        return informer.stop();
      };
      return {
        cached: () => informer.list().map(({ metadata }) => metadata?.name ?? ''),
        join: (late) => tell(informer, late),
        stop: () => void stop(),
        close: stop,
      };
    },
  };
}

function tell(informer: Informer<KubernetesObject>, told: Told): void {
  for (const verb of ['add', 'update', 'delete'] as const) {
    informer.on(verb, ({ metadata }) => told(`${verb} ${metadata?.name}`));
  }
}

// A whole controller on src/kube alone: each ConfigMap labelled `count-keys` gets an annotation with how many keys it has.
// Run it beside `make run`: node docs/examples/key-counter.ts KUBECONFIG
import { pathToFileURL } from 'node:url';
import { type Logger, pino } from 'pino';
import { isNotFound } from '../../src/kube/api/api-error.ts';
import { CONFIG_MAPS } from '../../src/kube/api/core-resources.ts';
import { keyOf, type ObjectKey, splitKey } from '../../src/kube/api/object.ts';
import { Informer } from '../../src/kube/cache/informer.ts';
import { KubeClient } from '../../src/kube/client/client.ts';
import { loadKubeConfig } from '../../src/kube/client/kubeconfig/load-config.ts';
import { Transport } from '../../src/kube/client/transport.ts';
import { Controller, type Result } from '../../src/kube/controller/controller.ts';
import { ReconcileHistory } from '../../src/kube/controller/reconcile-history.ts';
import { systemClock as clock } from '../../src/kube/workqueue/clock.ts';
import { defaultControllerLimiter } from '../../src/kube/workqueue/rate-limiters.ts';
import { WorkQueue } from '../../src/kube/workqueue/rate-limiting-queue.ts';

const LABEL = 'count-keys';
const ANNOTATION = 'example.com/keys';

export async function countKeys(kubeconfig: string, log: Logger, signal: AbortSignal): Promise<void> {
  const transport = new Transport(loadKubeConfig({ kubeconfig, master: undefined }), clock);
  const client = new KubeClient({ transport, clock });
  const queue = new WorkQueue<ObjectKey>({ clock, limiter: defaultControllerLimiter(clock) });
  const onError = (err: unknown) => log.warn({ err }, 'interrupted');
  const informer = new Informer({ client, clock, resource: CONFIG_MAPS, labelSelector: LABEL, onError });
  informer.addEventHandler(
    { onAdd: (object) => queue.add(keyOf(object)), onUpdate: (_, object) => queue.add(keyOf(object)) },
    { resyncMs: 30_000 },
  );

  /** Level-triggered: reads what is, writes what should be, and nothing where that is the same. */
  async function reconcile(key: ObjectKey): Promise<Result> {
    const configMap = informer.lister.get(key);
    const keys = String(Object.keys(configMap?.data ?? {}).length);
    if (!configMap || configMap.metadata.annotations?.[ANNOTATION] === keys) return {};
    const patch = { metadata: { annotations: { [ANNOTATION]: keys } } };
    await client.mergePatch(CONFIG_MAPS, splitKey(key), patch, { signal }).catch((error) => {
      if (!isNotFound(error)) throw error;
    });
    log.info({ key, keys }, 'counted');
    return {};
  }

  const history = new ReconcileHistory({ wallClock: Date.now });
  const controller = new Controller({ name: 'counter', queue, reconcile, workers: 2, history, log, clock });
  const watching = informer.run(signal);
  await informer.waitForSync(signal);
  await controller.run(signal);
  await watching;
  await transport.close();
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  await countKeys(process.argv[2] ?? '', pino(), stop.signal);
}

// A whole controller on src/kube alone: each ConfigMap labelled `count-keys` gets an annotation with how many keys it has.
// Run it beside `make run`: node docs/examples/key-counter.ts KUBECONFIG
import { pathToFileURL } from 'node:url';
import { type Logger, pino } from 'pino';
import { isNotFound } from '../../src/kube/api-error.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { Controller, type Result } from '../../src/kube/controller.ts';
import { CONFIG_MAPS } from '../../src/kube/core-resources.ts';
import { Informer } from '../../src/kube/informer.ts';
import { loadKubeConfig } from '../../src/kube/load-config.ts';
import { keyOf, type ObjectKey, splitKey } from '../../src/kube/object.ts';
import { ReconcileHistory } from '../../src/kube/reconcile-history.ts';
import { Transport } from '../../src/kube/transport.ts';
import { systemClock as clock } from '../../src/workqueue/clock.ts';
import { defaultControllerLimiter } from '../../src/workqueue/rate-limiters.ts';
import { WorkQueue } from '../../src/workqueue/rate-limiting-queue.ts';

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

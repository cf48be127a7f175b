import type { EventHandler } from '../../../../src/kube/cache/informer.ts';
import { Informer, type InformerOptions } from '../../../../src/kube/cache/informer.ts';
import { startScripted } from '../../../support/kube/scripted-client.ts';
import { type ConfigMap, configMaps } from '../../../support/kube/scripted-objects.ts';

/** An informer of a scripted server, not running; by default without jitter and without streamed lists. */
export async function newInformer(options: Partial<InformerOptions<ConfigMap>> = {}) {
  const api = await startScripted();
  const stop = new AbortController();
  const errors: string[] = [];
  const informer = new Informer<ConfigMap>({
    client: api.client,
    resource: configMaps,
    clock: api.clock,
    random: () => 0,
    onError: (error, doing) => errors.push(`${doing}: ${error instanceof Error ? error.message : error}`),
    ...options,
  });
  let running: Promise<void> | undefined;
  return {
    ...api,
    informer,
    errors,
    stop,
    run: () => {
      running = informer.run(stop.signal);
      return running;
    },
    async close() {
      stop.abort();
      await running;
      await api.close();
    },
  };
}

export type Setup = Awaited<ReturnType<typeof newInformer>>;

/** A handler that records its calls. */
export function recorded(heard: string[] = []): EventHandler<ConfigMap> & { readonly heard: string[] } {
  const short = ({ metadata }: ConfigMap) => `${metadata.name}=${metadata.resourceVersion}`;
  return {
    heard,
    onAdd: (object, initial) => heard.push(`add ${short(object)}${initial ? ' initially' : ''}`),
    onUpdate: (previous, current) => heard.push(`update ${short(previous)} to ${short(current)}`),
    onDelete: (object, unknown) => heard.push(`delete ${short(object)}${unknown ? ', last seen so' : ''}`),
  };
}

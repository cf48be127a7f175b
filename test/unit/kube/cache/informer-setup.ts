import type { EventHandler } from '../../../../src/kube/cache/informer.ts';
import { Informer, type InformerOptions } from '../../../../src/kube/cache/informer.ts';
import { Reflector } from '../../../../src/kube/cache/reflector.ts';
import { startScripted } from '../../../support/kube/scripted-client.ts';
import { type ConfigMap, configMaps } from '../../../support/kube/scripted-objects.ts';

/** An informer of a scripted server, not running; by default without jitter and without streamed lists. */
export async function newInformer(options: Partial<InformerOptions<ConfigMap>> = {}) {
  const api = await startScripted();
  const stop = new AbortController();
  const errors: string[] = [];
  const onError = (error: unknown, doing: string) =>
    void errors.push(`${doing}: ${error instanceof Error ? error.message : error}`);
  const common = { client: api.client, resource: configMaps, clock: api.clock, onError };
  const informer = new Informer<ConfigMap>({ ...common, ...options });
  const reflector = new Reflector({ ...common, random: () => 0 }, [informer]);
  let running: Promise<unknown> | undefined;
  return {
    ...api,
    informer,
    errors,
    stop,
    run: () => {
      running = Promise.all([reflector.run(stop.signal), informer.run(stop.signal)]);
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
    onAdd: (object) => heard.push(`add ${short(object)}`),
    onUpdate: (previous, current) => heard.push(`update ${short(previous)} to ${short(current)}`),
    onDelete: (object) => heard.push(`delete ${short(object)}`),
  };
}

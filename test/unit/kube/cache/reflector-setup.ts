import { TransportError } from '../../../../src/kube/api/api-error.ts';
import {
  Reflector,
  type ReflectorOptions,
  type ReflectorSink,
} from '../../../../src/kube/cache/reflector.ts';
import { startScripted } from '../../../support/kube/scripted-client.ts';
import { type ConfigMap, configMaps } from '../../../support/kube/scripted-objects.ts';
import type { ScriptedRequest } from '../../../support/kube/scripted-server.ts';

/** A running reflector of a scripted server; by default without jitter. */
export async function startReflector({
  read = (value) => value,
  ...options
}: Partial<ReflectorOptions> & { readonly read?: ReflectorSink['read'] } = {}) {
  const api = await startScripted();
  const stop = new AbortController();
  /** The calls of the sink, for example `replace a=1 b=2`, `upsert a=3`, `remove a=4`. */
  const seen: string[] = [];
  const errors: string[] = [];
  const sink = recorder(seen, read);
  const given: ReflectorOptions = {
    client: api.client,
    resource: configMaps,
    namespace: 'shop',
    clock: api.clock,
    random: () => 0,
    onError: (error, doing) => errors.push(`${doing}: ${codeOf(error)}`),
    ...options,
  };
  const reflector = new Reflector(given, [sink]);
  const running = reflector.run(stop.signal);
  return {
    ...api,
    reflector,
    sink,
    seen,
    errors,
    stop,
    running,
    async close() {
      stop.abort();
      await running;
      await api.close();
    },
  };
}

export type Started = Awaited<ReturnType<typeof startReflector>>;

/** The parameters of a list or a watch, without the fixed ones. */
export function asked({ query, isWatch }: ScriptedRequest): string {
  const { watch: _, allowWatchBookmarks: __, timeoutSeconds: ___, ...rest } = Object.fromEntries(query);
  return [
    isWatch ? 'watch' : 'list',
    ...Object.entries(rest).map(([name, value]) => `${name}=${value}`),
  ].join(' ');
}

function recorder(seen: string[], read: ReflectorSink['read']): ReflectorSink {
  const short = (key: string, view: unknown) =>
    `${key.replace('shop/', '')}=${(view as ConfigMap).metadata.resourceVersion}`;
  return {
    read,
    replace: async (states, index) => {
      seen.push(['replace', ...[...states].map(([key, views]) => short(key, views[index]))].join(' '));
    },
    upsert: (view) => void seen.push(`upsert ${short((view as ConfigMap).metadata.name, view)}`),
    remove: (key, last) => void seen.push(`remove ${short(key, last)}`),
  };
}

function codeOf(error: unknown): string {
  if (error instanceof TransportError) return error.code;
  if (error instanceof Error && 'status' in error) return String(error.status);
  return error instanceof Error ? error.name : String(error);
}

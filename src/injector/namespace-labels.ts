import { sameJson } from '../json/json.ts';
import { HttpError } from '../kube/admission/http-error.ts';
import { labelsOnly, NAMESPACES } from '../kube/api/core-resources.ts';
import type { KubeObject } from '../kube/api/object.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { LookUps } from '../kube/util/look-ups.ts';
import { isDnsLabel } from '../podspec/names.ts';
import type { NamespaceLabelsOf } from './inject-handler.ts';

/** The labels of namespaces, from a cache of nothing else. */
export interface NamespaceLabels {
  hasSynced(): boolean;
  /** From the cache where it knows the namespace; `fresh` asks the API server, whose own cache may be ahead of ours. */
  readonly labels: NamespaceLabelsOf;
  /** From the cache alone; none where it does not know the namespace. */
  cached(namespace: string): Readonly<Record<string, string>>;
  /** Called with the name of each namespace whose labels are others from then on. */
  onChanged(listener: (namespace: string) => void): void;
}

/** Requests for namespaces that exist: their number is bounded, and each may have been labelled a moment ago. */
const KNOWN = { perSecond: 50, burst: 100 };
/** Requests for names that the cache does not know: anyone can make them up. They cost those above nothing. */
const UNKNOWN = { perSecond: 10, burst: 20 };

export function setUpNamespaceLabels(manager: Manager): NamespaceLabels {
  const { client, clock } = manager;
  const informer = manager.informer(NAMESPACES, { transform: labelsOnly });
  const ask = (name: string, signal: AbortSignal) => client.get(NAMESPACES, { name }, { signal });
  const known = new LookUps({ ...KNOWN, clock, ask });
  const unknown = new LookUps({ ...UNKNOWN, clock, ask });
  return {
    hasSynced: () => informer.hasSynced(),
    cached: (namespace) => informer.lister.get(namespace)?.metadata.labels ?? {},
    onChanged(listener) {
      const tell = ({ metadata }: KubeObject) => listener(metadata.name);
      informer.addEventHandler({
        onAdd: tell,
        // Whatever else of a namespace changes is nobody's work.
        onUpdate({ metadata: { labels = {} } }, namespace) {
          if (!sameJson(labels, namespace.metadata.labels ?? {})) tell(namespace);
        },
        onDelete: tell,
      });
    },
    async labels(namespace, { fresh, signal }) {
      const cached = informer.lister.get(namespace);
      if (cached && !fresh) return cached.metadata.labels ?? {};
      if (!isDnsLabel(namespace))
        throw new HttpError(400, 'request.namespace: expected the name of a namespace');
      const found = await (cached ? known : unknown).get(namespace, signal());
      return found.metadata.labels ?? {};
    },
  };
}

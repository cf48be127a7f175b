import { sameJson } from '../json/json.ts';
import { HttpError } from '../kube/admission/http-error.ts';
import { labelsOnly, NAMESPACES } from '../kube/api/core-resources.ts';
import type { KubeObject } from '../kube/api/object.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { LookUps } from '../kube/util/look-ups.ts';
import { isDnsLabel } from '../podspec/names.ts';
import type { NamespaceLabelsOf } from './inject-handler.ts';

/** The labels of namespaces, from a cache that keeps only them. */
export interface NamespaceLabels {
  hasSynced(): boolean;
  /** From the cache if it has the namespace; with `fresh` from the API server, which may be ahead of the cache. */
  readonly labels: NamespaceLabelsOf;
  /** From the cache only; empty if it does not have the namespace. */
  cached(namespace: string): Readonly<Record<string, string>>;
  /** Calls the listener with the name of each namespace whose labels change. */
  onChanged(listener: (namespace: string) => void): void;
}

/** Requests for existing namespaces: their number is bounded, and each may have been labelled a moment ago. */
const KNOWN = { perSecond: 50, burst: 100 };
/** Requests for unknown names, which any client can invent. They do not use up the budget above. */
const UNKNOWN = { perSecond: 10, burst: 20 };

/** Returns the labels of namespaces from one informer; starts nothing. */
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
      const report = ({ metadata }: KubeObject) => listener(metadata.name);
      informer.addEventHandler({
        onAdd: report,
        // Other changes of a namespace do not matter.
        onUpdate({ metadata: { labels = {} } }, namespace) {
          if (!sameJson(labels, namespace.metadata.labels ?? {})) report(namespace);
        },
        onDelete: report,
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

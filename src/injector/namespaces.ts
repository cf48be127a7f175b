import { sameJson } from '../json/json.ts';
import { HttpError } from '../kube/admission/http-error.ts';
import { NAMESPACES } from '../kube/api/core-resources.ts';
import type { KubeObject } from '../kube/api/object.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { LookUps } from '../kube/util/look-ups.ts';
import { isDnsLabel } from '../podspec/names.ts';
import { type Keys, keysFor } from '../sidecar/keys.ts';
import { type NamespaceSettings, namespaceSettings } from '../sidecar/namespace-settings.ts';
import type { NamespaceSettingsOf } from './inject-handler.ts';

/** The settings of namespaces, from a cache that keeps only them. */
export interface Namespaces {
  hasSynced(): boolean;
  /** From the cache if it has the namespace; with `fresh` from the API server, which may be ahead of the cache. */
  readonly settings: NamespaceSettingsOf;
  /** From the cache only; empty if it does not have the namespace. */
  cached(namespace: string): NamespaceSettings;
  /** Calls the listener with the name of each namespace whose settings change. */
  onChanged(listener: (namespace: string) => void): void;
}

/** Requests for existing namespaces: their number is bounded, and each may have been labelled a moment ago. */
const KNOWN = { perSecond: 50, burst: 100 };
/** Requests for unknown names, which any client can invent. They do not use up the budget above. */
const UNKNOWN = { perSecond: 10, burst: 20 };

/** Returns the settings of namespaces from one informer, and the version of the API server; starts nothing. */
export function setUpNamespaces(
  manager: Manager,
  {
    annotation,
    serverMinor,
  }: { readonly annotation: string; readonly serverMinor: () => number | undefined },
): Namespaces {
  const { client, clock } = manager;
  const keys = keysFor(annotation);
  const informer = manager.informer(NAMESPACES, { transform: namespaceSummary(keys) });
  const ask = (name: string, signal: AbortSignal) => client.get(NAMESPACES, { name }, { signal });
  const known = new LookUps({ ...KNOWN, clock, ask });
  const unknown = new LookUps({ ...UNKNOWN, clock, ask });
  const settingsIn = ({ metadata }: KubeObject) => namespaceSettings(metadata, keys, serverMinor());
  const nothing = namespaceSettings({}, keys);
  return {
    hasSynced: () => informer.hasSynced(),
    cached(namespace) {
      const found = informer.lister.get(namespace);
      return found ? settingsIn(found) : nothing;
    },
    onChanged(listener) {
      const report = ({ metadata }: KubeObject) => listener(metadata.name);
      informer.addEventHandler({
        onAdd: report,
        // Other changes of a namespace do not matter.
        onUpdate(before, namespace) {
          if (!sameSettings(settingsIn(before), settingsIn(namespace))) report(namespace);
        },
        onDelete: report,
      });
    },
    async settings(namespace, { fresh, signal }) {
      const cached = informer.lister.get(namespace);
      if (cached && !fresh) return settingsIn(cached);
      if (!isDnsLabel(namespace))
        throw new HttpError(400, 'request.namespace: expected the name of a namespace');
      return settingsIn(await (cached ? known : unknown).get(namespace, signal()));
    },
  };
}

function sameSettings(a: NamespaceSettings, b: NamespaceSettings): boolean {
  return a.namespaceTemplates === b.namespaceTemplates && sameJson(a.namespaceLabels, b.namespaceLabels);
}

/** Returns a transform that keeps of a Namespace its identity, its labels and the annotation that selects templates. */
function namespaceSummary({ templates: key }: Keys): (namespace: KubeObject) => KubeObject {
  return ({ metadata: { name, uid, resourceVersion, labels, annotations } }) => {
    const selected = annotations?.[key];
    return {
      metadata: {
        name,
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
        ...(labels !== undefined && { labels }),
        ...(selected !== undefined && { annotations: { [key]: selected } }),
      },
    };
  };
}

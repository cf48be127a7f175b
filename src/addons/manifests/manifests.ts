import { ENVOY_CONFIG_MAP, ENVOY_FILES } from '../../injection/envoy/files.ts';
import { type Injection, inject } from '../../injection/inject.ts';
import type { Keys } from '../../injection/keys.ts';
import { effectMistakes, optInMistakes } from '../../injection/mistakes.ts';
import { type NamespaceSettings, namespaceSettings } from '../../injection/namespace-settings.ts';
import { podCreation } from '../../injection/podspec/admission-target.ts';
import { annotation } from '../../injection/podspec/pod.ts';
import { limitRangeOf } from '../../injection/podspec/rules/limit-ranges.ts';
import {
  asTemplate,
  createdPod,
  namespaceOf,
  objectsOf,
  type PodSite,
  type PodTemplateRule,
  podSites,
  unknownWorkloads,
} from '../../injection/podspec/workload.ts';
import type { DecideOptions } from '../../injection/rule.ts';
import type { Status } from '../../injection/status.ts';
import type { TemplateState } from '../../injection/template/template-set.ts';
import { uninject } from '../../injection/uninject.ts';
import { type JsonObject, type JsonValue, own, ownObjects, ownString, stringsIn } from '../../util/json.ts';
import { readManifests } from '../../util/manifests/parse.ts';
import { PodPatchBuilder } from '../../util/patch.ts';
import { writeManifests } from './yaml/write.ts';

export interface InjectManifestsOptions {
  readonly decideOptions: DecideOptions;
  readonly state: TemplateState;
  /** The namespace of objects that name none. */
  readonly namespace: string;
  readonly podTemplates: readonly PodTemplateRule[];
}

/** The result for one pod or pod template. */
export interface SiteResult {
  readonly site: PodSite;
  readonly injection: Injection;
  /** The pod or pod template with its sidecar; undefined if it gets none. */
  readonly injected: JsonObject | undefined;
  /** What differs from the pods that the webhook injects. */
  readonly notes: readonly string[];
  /** Failed attempts to opt in. */
  readonly mistakes: readonly string[];
}

/**
 * Injects the pods and pod templates of a text of manifests as the webhook would inject their pods. The settings of a
 * namespace are known only if the text contains them.
 * @throws ManifestError, or PatchError if a pod does not have the shape of a pod.
 */
export function injectManifests(text: string, options: InjectManifestsOptions) {
  const documents = readManifests(text);
  const settingsOf = namespacesIn(documents, options.decideOptions.keys, options.namespace);
  const results: SiteResult[] = [];
  const injected = withPods(documents, options.podTemplates, (site) => {
    const result = injectSite(site, settingsOf, options);
    results.push(result);
    return result.injected;
  });
  // The objects of unknown kinds that seem to have a pod template.
  const unknown = documents.flatMap((document) => [...unknownWorkloads(document, options.podTemplates)]);
  return { text: writeManifests(text, injected), results, unknown };
}

/** The documents with other pods and pod templates: those for which `change` returns one. */
function withPods(
  documents: readonly JsonValue[],
  podTemplates: readonly PodTemplateRule[],
  change: (site: PodSite) => JsonObject | undefined,
): readonly JsonValue[] {
  return documents.map((document) => {
    const patch = new PodPatchBuilder({ document });
    for (const site of podSites(document, podTemplates)) {
      const pod = change(site);
      if (pod) patch.replace(['document', ...site.path], pod);
    }
    return patch.pod.document ?? null;
  });
}

/** Decides about one pod or pod template as if it were created in its namespace. */
function injectSite(
  site: PodSite,
  settingsOf: (namespace: string) => NamespaceSettings,
  { decideOptions, state, namespace: byDefault }: InjectManifestsOptions,
): SiteResult {
  const namespace = namespaceOf(site, byDefault);
  const created = createdPod(site.object, site.pod);
  const settings = settingsOf(namespace);
  const injection = inject({
    request: podCreation(namespace),
    pod: created,
    ...settings,
    options: decideOptions,
    state,
  });
  const isInjected = injection.outcome === 'injected';
  return {
    site,
    injection,
    injected: isInjected ? asTemplate(site.pod, created, injection.pod) : undefined,
    notes: isInjected ? pullSecretNotes(site.pod, injection.status) : [],
    mistakes: [
      ...optInMistakes(site, decideOptions.keys, settings.namespaceLabels),
      ...effectMistakes(site, injection, decideOptions.keys),
    ],
  };
}

/** The webhook sees a pod after it got the secrets of its service account. */
function pullSecretNotes(pod: JsonObject, { added }: Status): readonly string[] {
  const had = ownObjects(own(pod, 'spec'), 'imagePullSecrets').length > 0;
  if (had || !added.imagePullSecrets) return [];
  return [
    "its pods do not get the imagePullSecrets of their service account, because the API server adds them only to pods without any: add the needed ones to the pod's imagePullSecrets",
  ];
}

/**
 * Returns a function that finds the settings of a namespace in the documents: its Namespace, its LimitRanges and its
 * ConfigMap `envoy`. Without a Namespace it has no labels; without the ConfigMap, the operator writes its own.
 */
export function namespacesIn(
  documents: readonly JsonValue[],
  keys: Keys,
  byDefault: string,
): (namespace: string) => NamespaceSettings {
  const found = new Map<string, Partial<NamespaceSettings>>();
  const add = (namespace: string, settings: Partial<NamespaceSettings>) =>
    void found.set(namespace, { ...found.get(namespace), ...settings });
  for (const [object] of documents.flatMap((document) => [...objectsOf(document)])) {
    if (ownString(object, 'apiVersion') !== 'v1') continue;
    const metadata = own(object, 'metadata');
    const [name, of] = [ownString(metadata, 'name') ?? '', ownString(metadata, 'namespace') || byDefault];
    const kind = ownString(object, 'kind');
    if (kind === 'Namespace') {
      const labels = stringsIn(own(metadata, 'labels'));
      const annotations = stringsIn(own(metadata, 'annotations'));
      add(name, namespaceSettings({ labels, annotations }, keys));
    } else if (kind === 'LimitRange') {
      add(of, { limitRanges: [...(found.get(of)?.limitRanges ?? []), limitRangeOf(object)] });
    } else if (kind === 'ConfigMap' && name === ENVOY_CONFIG_MAP) {
      add(of, { envoyFiles: stringsIn(own(object, 'data')) });
    }
  }
  const nothing = { ...namespaceSettings({}, keys), envoyFiles: ENVOY_FILES };
  return (namespace) => ({ ...nothing, ...found.get(namespace) });
}

/** One pod or pod template. `restored`: its sidecar was removed. `unreadable`: its status annotation is not valid. */
export interface UninjectResult {
  readonly site: PodSite;
  readonly outcome: 'restored' | 'untouched' | 'unreadable';
}

/**
 * Removes the sidecars from the pods and pod templates of a text of manifests.
 * @throws ManifestError, or PatchError if a status annotation does not fit its pod.
 */
export function uninjectManifests(text: string, keys: Keys, podTemplates: readonly PodTemplateRule[]) {
  const results: UninjectResult[] = [];
  const documents = withPods(readManifests(text), podTemplates, (site) => {
    const pod = uninject(site.pod, keys);
    const isMarked = annotation(site.pod, keys.status) !== undefined;
    results.push({ site, outcome: pod ? 'restored' : isMarked ? 'unreadable' : 'untouched' });
    return pod;
  });
  return { text: writeManifests(text, documents), results };
}

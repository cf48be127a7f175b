import { keysFor } from '../injection/keys.ts';
import type { DecideOptions } from '../injection/rule.ts';
import {
  type EnvoyConfiguration,
  setUpEnvoyConfiguration,
} from '../injection/webhook/envoy-configuration.ts';
import { type Namespaces, setUpNamespaces } from '../injection/webhook/namespaces.ts';
import { type NewPodTemplates, newPodTemplates } from '../injection/webhook/new-pod-templates.ts';
import { setUpPodCache } from '../injection/webhook/pod-cache.ts';
import { setUpTemplate, type TemplateSetup } from '../injection/webhook/template-setup.ts';
import type { KubeObject } from '../kube/api/object.ts';
import type { Informer } from '../kube/cache/informer.ts';
import type { Manager } from '../kube/manager/manager.ts';
import type { OperatorOptions } from './options.ts';
import { type ServerMinor, setUpServerVersion } from './server-version.ts';

/** What an add-on may use, and hook into. */
export interface Core {
  /** How the flags decide about pods. */
  readonly decideOptions: DecideOptions;
  readonly serverMinor: ServerMinor;
  /** The templates of the ConfigMap. */
  readonly template: TemplateSetup;
  /** The templates that new pods get: an add-on may choose others than those of the ConfigMap. */
  readonly newPods: NewPodTemplates;
  readonly namespaces: Namespaces;
  /** Live pods, with what `podSummary` keeps of them. */
  readonly pods: Informer<KubeObject>;
  readonly envoyConfiguration: EnvoyConfiguration;
}

/** Sets up what all features of injection share. */
export function setUpCore(manager: Manager, options: OperatorOptions): Core {
  const { namespace, annotation, requireAnnotation } = options;
  const keys = keysFor(annotation);
  const serverMinor = setUpServerVersion(manager);
  const template = setUpTemplate(manager, { ...options, serverMinor });
  const namespaces = setUpNamespaces(manager, { ...options, serverMinor: serverMinor.current });
  const pods = setUpPodCache(manager, keys);
  return {
    decideOptions: { keys, requireAnnotation, operatorNamespace: namespace },
    serverMinor,
    template,
    newPods: newPodTemplates(template),
    namespaces,
    pods,
    envoyConfiguration: setUpEnvoyConfiguration(manager, { namespace, annotation, pods }),
  };
}

/** The part of an add-on in the operator. `options` has its own flags, too. */
export type OperatorPart = (manager: Manager, core: Core, options: OperatorOptions) => void;

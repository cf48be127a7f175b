import { createHash } from 'node:crypto';
import {
  canonicalJson,
  deepFreeze,
  type JsonObject,
  type JsonValue,
  own,
  ownObjects,
  withoutNulls,
} from '../../json/json.ts';

/** What a template writes where the name of the pod's workload belongs. */
export const WORKLOAD_NAME = `\${workload.name}`;

/**
 * A template that has been checked and made ready, once: to inject a pod nothing of it is parsed, checked
 * or copied. It is frozen through and through, as its parts become parts of many pods.
 */
export interface Template {
  /** `config` for the default one; of the key `config.NAME`, `NAME`. */
  readonly name: string;
  /** sha256 of the content in hex: the same for the same content, whatever its comments and layout. */
  readonly hash: string;
  readonly labels: JsonObject;
  readonly annotations: JsonObject;
  readonly containers: readonly JsonObject[];
  readonly initContainers: readonly JsonObject[];
  readonly volumes: readonly JsonObject[];
  readonly imagePullSecrets: readonly JsonObject[];
  readonly hostAliases: readonly JsonObject[];
  readonly securityContext: JsonObject;
  readonly dnsConfig: JsonObject;
  /** For the application's own containers. */
  readonly env: readonly JsonObject[];
  readonly volumeMounts: readonly JsonObject[];
  /** Whether it says `${workload.name}`, and so is another one for each workload. */
  readonly namesWorkload: boolean;
}

/** Makes a template of content that has been found right. */
export function prepareTemplate(name: string, metadata: JsonValue, spec: JsonValue): Template {
  const content = deepFreeze({ metadata: withoutNulls(metadata), spec: withoutNulls(spec) });
  const objects = (key: string) => ownObjects(content.spec, key);
  return Object.freeze({
    name,
    hash: createHash('sha256').update(canonicalJson(content)).digest('hex'),
    labels: fields(content.metadata, 'labels'),
    annotations: fields(content.metadata, 'annotations'),
    containers: objects('containers'),
    initContainers: objects('initContainers'),
    volumes: objects('volumes'),
    imagePullSecrets: objects('imagePullSecrets'),
    hostAliases: objects('hostAliases'),
    securityContext: fields(content.spec, 'securityContext'),
    dnsConfig: fields(content.spec, 'dnsConfig'),
    env: objects('env'),
    volumeMounts: objects('volumeMounts'),
    namesWorkload: namesWorkload(content.spec),
  });
}

function fields(object: JsonValue, key: string): JsonObject {
  return (own(object, key) ?? {}) as JsonObject;
}

/** Whether any part of a template is to say the name of the workload. */
function namesWorkload(spec: JsonValue): boolean {
  return JSON.stringify(spec).includes(WORKLOAD_NAME);
}

/**
 * Writes src/injection/podspec/schema/pod-schema.ts from the OpenAPI document of Kubernetes: the fields of everything that a
 * template may add to a pod.
 *
 *   node hack/generate-pod-schema.ts VERSION < api/openapi-spec/v3/api__v1_openapi.json
 */
import { readFileSync } from 'node:fs';
import type { FieldSchema } from '../src/injection/podspec/schema/schema.ts';

interface Property {
  readonly type?: string;
  readonly format?: string;
  readonly $ref?: string;
  readonly allOf?: readonly Property[];
  readonly items?: Property;
  readonly additionalProperties?: Property;
  readonly default?: unknown;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-patch-merge-key'?: string;
}

interface Definition {
  readonly properties?: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}

const ROOTS = [
  'Container',
  'Volume',
  'LocalObjectReference',
  'HostAlias',
  'PodSecurityContext',
  'PodDNSConfig',
];

const INT32_MAX = 2_147_483_647;
const PORT = { range: [1, 65535] } as const;
const MODE = { range: [0, 0o777] } as const;
const FILE_MODE = { ...MODE, default: 0o644 } as const;
const ID = { range: [0, INT32_MAX] } as const;
const COUNT = { range: [0, INT32_MAX] } as const;
const NAME = { required: true } as const;

/**
 * What the API server's validation requires and its defaults set beyond the OpenAPI document
 * (k8s.io/kubernetes/pkg/apis/core/validation, v1/defaults.go), for the types that sidecars use.
 */
const CONSTRAINTS: Readonly<Record<string, Partial<FieldSchema>>> = {
  'AWSElasticBlockStoreVolumeSource.partition': { default: 0 },
  'AppArmorProfile.type': { values: ['Localhost', 'RuntimeDefault', 'Unconfined'] },
  'ConfigMapEnvSource.name': NAME,
  'ConfigMapKeySelector.name': NAME,
  'ConfigMapProjection.name': NAME,
  'ConfigMapVolumeSource.defaultMode': FILE_MODE,
  'ConfigMapVolumeSource.name': NAME,
  'Container.imagePullPolicy': { values: ['Always', 'IfNotPresent', 'Never'] },
  'Container.restartPolicy': { values: ['Always', 'Never', 'OnFailure'] },
  'Container.terminationMessagePolicy': { values: ['FallbackToLogsOnError', 'File'] },
  'ContainerPort.containerPort': PORT,
  'ContainerPort.hostPort': { range: [0, 65535] },
  'ContainerPort.protocol': { values: ['TCP', 'UDP', 'SCTP'] },
  'ContainerResizePolicy.resourceName': { values: ['cpu', 'memory'] },
  'ContainerResizePolicy.restartPolicy': { values: ['NotRequired', 'RestartContainer'] },
  'ContainerRestartRule.action': { values: ['Restart', 'RestartAllContainers'] },
  'ContainerRestartRule.exitCodes': { required: true },
  'ContainerRestartRuleOnExitCodes.operator': { values: ['In', 'NotIn'] },
  'DownwardAPIVolumeFile.mode': MODE,
  'DownwardAPIVolumeSource.defaultMode': FILE_MODE,
  'EphemeralVolumeSource.volumeClaimTemplate': { required: true },
  'ExecAction.command': { required: true },
  'GCEPersistentDiskVolumeSource.partition': { default: 0 },
  'GRPCAction.port': PORT,
  'HTTPGetAction.port': PORT,
  'HTTPGetAction.scheme': { values: ['HTTP', 'HTTPS'] },
  'HostPathVolumeSource.type': {
    values: [
      '',
      'BlockDevice',
      'CharDevice',
      'Directory',
      'DirectoryOrCreate',
      'File',
      'FileOrCreate',
      'Socket',
    ],
  },
  'ImageVolumeSource.pullPolicy': { values: ['Always', 'IfNotPresent', 'Never'] },
  'ImageVolumeSource.reference': { required: true },
  'KeyToPath.mode': MODE,
  'LocalObjectReference.name': NAME,
  'ObjectFieldSelector.apiVersion': { default: 'v1' },
  'PersistentVolumeClaimSpec.accessModes': {
    values: ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'],
  },
  'PersistentVolumeClaimSpec.volumeMode': { default: 'Filesystem' },
  'PodDNSConfigOption.name': { required: true },
  'PodSecurityContext.fsGroup': ID,
  'PodSecurityContext.fsGroupChangePolicy': { values: ['Always', 'OnRootMismatch'] },
  'PodSecurityContext.runAsGroup': ID,
  'PodSecurityContext.runAsUser': ID,
  'PodSecurityContext.seLinuxChangePolicy': { values: ['MountOption', 'Recursive'] },
  'PodSecurityContext.supplementalGroups': ID,
  'PodSecurityContext.supplementalGroupsPolicy': { values: ['Merge', 'Strict'] },
  'Probe.failureThreshold': COUNT,
  'Probe.initialDelaySeconds': COUNT,
  'Probe.periodSeconds': COUNT,
  'Probe.successThreshold': COUNT,
  'Probe.terminationGracePeriodSeconds': { range: [1, INT32_MAX] },
  'Probe.timeoutSeconds': COUNT,
  'ProjectedVolumeSource.defaultMode': FILE_MODE,
  'ResourceFieldSelector.divisor': { default: '0' },
  'SeccompProfile.type': { values: ['Localhost', 'RuntimeDefault', 'Unconfined'] },
  'SecretEnvSource.name': NAME,
  'SecretKeySelector.name': NAME,
  'SecretProjection.name': NAME,
  'SecretVolumeSource.defaultMode': FILE_MODE,
  'SecretVolumeSource.secretName': NAME,
  'SecurityContext.procMount': { values: ['Default', 'Unmasked'] },
  'SecurityContext.runAsGroup': ID,
  'SecurityContext.runAsUser': ID,
  'ServiceAccountTokenProjection.expirationSeconds': { range: [600, 2 ** 32], default: 3600 },
  'SleepAction.seconds': COUNT,
  'TCPSocketAction.port': PORT,
  'VolumeMount.mountPropagation': { values: ['Bidirectional', 'HostToContainer', 'None'] },
  'VolumeMount.recursiveReadOnly': { values: ['Disabled', 'Enabled', 'IfPossible'] },
};

const REF = '#/components/schemas/';

const SPECIAL: Readonly<Record<string, string>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': 'quantity',
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': 'int-or-string',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': 'string',
  'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1': 'any',
};

function main(): void {
  const [version] = process.argv.slice(2);
  if (!version) throw new Error('usage: generate-pod-schema.ts VERSION < openapi.json > pod-schema.ts');
  const openapi = JSON.parse(readFileSync(0, 'utf8')) as {
    components: { schemas: Record<string, Definition> };
  };
  const types = reachable(openapi.components.schemas);
  const names = [...types.keys()].sort();
  const unknown = Object.keys(CONSTRAINTS).filter((path) => !isField(path, types));
  if (unknown.length > 0)
    throw new Error(`expected the fields of CONSTRAINTS in the document, got none for ${unknown.join(', ')}`);
  process.stdout.write(
    `// Generated by hack/generate-pod-schema.ts from the OpenAPI of Kubernetes ${version}. Do not edit.\n` +
      "import type { Schema } from './schema.ts';\n\n" +
      '/** Everything that a template may add to a pod, by the name of its type. */\n' +
      '// biome-ignore format: a line for each type\n' +
      'export const POD_SCHEMA: Schema = {\n' +
      names.map((name) => `  ${name}: { ${types.get(name)} },\n`).join('') +
      '};\n',
  );
}

function isField(path: string, types: ReadonlyMap<string, string>): boolean {
  const [type = '', field] = path.split('.');
  return types.get(type)?.includes(`${field}: `) ?? false;
}

/** The text of each type that is reachable from the roots, by its short name. */
function reachable(schemas: Readonly<Record<string, Definition>>): Map<string, string> {
  const found = new Map<string, string>();
  const pending = ROOTS.map((name) => `io.k8s.api.core.v1.${name}`);
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (found.has(shortName(name))) continue;
    const definition = schemas[name];
    if (!definition) throw new Error(`expected a schema ${name} in the document, got none`);
    const fields = Object.entries(definition.properties ?? {}).map(([field, property]) => {
      const target = referenced(property);
      if (target && !SPECIAL[target]) pending.push(target);
      return `${field}: ${fieldText(`${shortName(name)}.${field}`, property, definition)}`;
    });
    found.set(shortName(name), fields.join(', '));
  }
  return found;
}

function fieldText(path: string, property: Property, definition: Definition): string {
  const field = path.slice(path.indexOf('.') + 1);
  const keys = property['x-kubernetes-patch-merge-key'] ? property['x-kubernetes-list-map-keys'] : undefined;
  const schema: Partial<FieldSchema> = {
    type: typeName(property),
    ...(definition.required?.includes(field) ? { required: true } : {}),
    ...(property.type === 'array' ? { list: true } : {}),
    ...(property.additionalProperties ? { map: true } : {}),
    ...(keys ? { mergeKeys: keys } : {}),
    ...(typeof property.default === 'string' && property.default !== '' ? { default: property.default } : {}),
    ...CONSTRAINTS[path],
  };
  return literal(schema);
}

/** A value as source text. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value !== 'object' || value === null)
    return typeof value === 'string' ? `'${value}'` : String(value);
  return `{ ${Object.entries(value)
    .map(([key, item]) => `${key}: ${literal(item)}`)
    .join(', ')} }`;
}

function typeName(property: Property): string {
  const inner = property.items ?? property.additionalProperties ?? property;
  const target = referenced(property);
  if (target) return SPECIAL[target] ?? shortName(target);
  if (inner.type === 'integer') return inner.format === 'int32' ? 'int32' : 'int64';
  return inner.type === 'object' || !inner.type ? 'any' : inner.type;
}

function referenced(property: Property): string | undefined {
  const inner = property.items ?? property.additionalProperties ?? property;
  return (inner.$ref ?? inner.allOf?.[0]?.$ref)?.slice(REF.length);
}

function shortName(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

main();

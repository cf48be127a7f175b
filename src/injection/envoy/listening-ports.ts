import {
  isArray,
  type JsonObject,
  type JsonValue,
  own,
  ownObjects,
  ownString,
  tryJson,
} from '../../util/json.ts';
import { parseYaml } from '../../util/yaml.ts';
import { placeOf } from '../podspec/mount-path.ts';
import { argumentsOf, flagValue, handlersOf, nameOf } from '../podspec/pod.ts';
import { formatPort } from '../podspec/rules/ports.ts';
import { ENVOY_CONFIG_MAP, type EnvoyFiles } from './files.ts';

/**
 * The ports on which a container of a template listens: those that it declares, those of its probes, and those of Envoy's
 * configuration that it names, if its content is known.
 */
export function listeningPorts(
  container: JsonObject,
  volumes: readonly JsonObject[],
  files: EnvoyFiles | undefined,
): readonly JsonObject[] {
  const declared = ownObjects(container, 'ports');
  const others = [
    ...probePorts(container),
    ...inlinePorts(container),
    ...(files ? configuredPorts(container, volumes, files) : []),
  ];
  const known = new Set(declared.map((port) => formatPort(port)));
  return [
    ...declared,
    ...others.filter((port) => !known.has(formatPort(port)) && known.add(formatPort(port))),
  ];
}

/** A probe or hook that names no other host asks the container itself. */
function probePorts(container: JsonObject): readonly JsonObject[] {
  return handlersOf(container)
    .filter((handler) => !ownString(handler, 'host'))
    .map((handler) => own(handler, 'port'))
    .filter((port) => typeof port === 'number')
    .map((containerPort) => ({ containerPort, protocol: 'TCP' }));
}

/** Those of a configuration in the arguments. */
function inlinePorts(container: JsonObject): readonly JsonObject[] {
  const args = argumentsOf(container);
  const at = args.indexOf('--config-yaml');
  return at === -1 ? [] : parsedOnce(container, '', args[at + 1] ?? '');
}

/** Those of the file of a ConfigMap. */
function configuredPorts(
  container: JsonObject,
  volumes: readonly JsonObject[],
  files: EnvoyFiles,
): readonly JsonObject[] {
  const key = configurationKey(container, volumes);
  return key === undefined || !Object.hasOwn(files, key) ? [] : parsedOnce(files, key, files[key] ?? '');
}

const parsed = new WeakMap<object, Map<string, readonly JsonObject[]>>();

/** Parses each text of an object once. */
function parsedOnce(of: object, key: string, text: string): readonly JsonObject[] {
  const known = parsed.get(of) ?? new Map<string, readonly JsonObject[]>();
  parsed.set(of, known);
  const ports = known.get(key) ?? bootstrapPorts(key, text);
  known.set(key, ports);
  return ports;
}

/** The key of the ConfigMap whose file Envoy is started with; undefined if it is not started with one. */
function configurationKey(container: JsonObject, volumes: readonly JsonObject[]): string | undefined {
  // A shell, too, has a flag -c.
  const path = flagValue(container, ['--config-path', '-c'], /^\//);
  if (path === undefined) return undefined;
  for (const mount of ownObjects(container, 'volumeMounts')) {
    const [place, subPath] = [placeOf(ownString(mount, 'mountPath') ?? ''), ownString(mount, 'subPath')];
    const isInside = subPath ? path === place : path.startsWith(`${place}/`);
    const volume = isInside ? volumes.find((each) => nameOf(each) === nameOf(mount)) : undefined;
    for (const source of [volume, ...ownObjects(own(volume, 'projected'), 'sources')]) {
      const configMap = own(source, 'configMap');
      if (ownString(configMap, 'name') !== ENVOY_CONFIG_MAP) continue;
      const file = subPath || path.slice(place.length + 1);
      const item = ownObjects(configMap, 'items').find((each) => ownString(each, 'path') === file);
      return item ? ownString(item, 'key') : file;
    }
  }
  return undefined;
}

/** Longer YAML takes too long to parse while a pod waits. JSON is faster. */
const MAX_YAML = 50_000;

/** The ports of the admin endpoint and the listeners of a bootstrap; none if it is not valid. */
function bootstrapPorts(key: string, text: string): readonly JsonObject[] {
  const value = parseFile(key, text);
  const of = (object: JsonValue | undefined, snake: string) =>
    own(object, snake) ??
    own(
      object,
      snake.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    );
  const listeners = of(of(value, 'static_resources'), 'listeners');
  const holders = [of(value, 'admin'), ...(isArray(listeners) ? listeners : [])];
  const addresses = holders.flatMap((holder) => {
    const more = of(holder, 'additional_addresses');
    return [of(holder, 'address'), ...(isArray(more) ? more.map((each) => of(each, 'address')) : [])];
  });
  return addresses.flatMap((address) => {
    const socket = of(address, 'socket_address');
    const containerPort = Number(of(socket, 'port_value') ?? 0);
    const protocol = ownString(socket, 'protocol') ?? 'TCP';
    return containerPort > 0 ? [{ containerPort, protocol }] : [];
  });
}

function parseFile(key: string, text: string): JsonValue | undefined {
  if (key.endsWith('.json')) return tryJson(text);
  if (text.length > MAX_YAML) return undefined;
  const result = parseYaml(text);
  return 'value' in result ? result.value : undefined;
}

import type { Findings, Path } from '../../../util/diagnostic.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own, ownString } from '../../../util/json.ts';
import { isQualifiedName } from '../names.ts';
import { parseQuantity } from '../quantity.ts';
import { POD_SCHEMA } from '../schema/pod-schema.ts';
import { formatPort } from './ports.ts';
import { duplicates, exactlyOne, isSet, items, profileFindings } from './rules.ts';

/** In a pod's own container, this image means: use the template's container, with these fields as overrides. */
export const AUTO_IMAGE = 'auto';

const HANDLERS = ['exec', 'grpc', 'httpGet', 'sleep', 'tcpSocket'];
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'];

/**
 * What the API server would reject in a container of the right shape
 * (k8s.io/kubernetes/pkg/apis/core/validation, validateContainerCommon and its neighbors). The API server
 * would reject every pod with such a container.
 */
export function* containerFindings(container: JsonObject, path: Path): Findings {
  yield* imageFindings(container, path);
  yield* duplicates(items(container, 'ports', path), hostPortOf, 'hostPort');
  yield* duplicates(items(container, 'ports', path), (port) => ownString(port, 'name'), 'name');
  yield* duplicates(
    items(container, 'resizePolicy', path),
    (policy) => ownString(policy, 'resourceName'),
    'resourceName',
  );
  yield* envFindings(container, path);
  yield* mountFindings(container, path);
  yield* deviceFindings(container, path);
  yield* resourceFindings(container, path);
  yield* privilegeFindings(own(container, 'securityContext'), [...path, 'securityContext']);
  yield* profileFindings(own(container, 'securityContext'), [...path, 'securityContext']);
  for (const probe of PROBES) {
    yield* handlerFindings(container, probe, path);
    yield* probeFindings(own(container, probe), [...path, probe], probe);
  }
  for (const hook of ['postStart', 'preStop']) {
    yield* handlerFindings(own(container, 'lifecycle'), hook, [...path, 'lifecycle']);
  }
}

/** What the API server accepts in a container, although its author has hardly meant it. */
export function* containerAdvice(container: JsonObject, path: Path): Findings {
  yield* duplicates(items(container, 'ports', path), (port) => formatPort(port), 'containerPort');
  yield* duplicates(items(container, 'env', path), (variable) => ownString(variable, 'name'), 'name');
}

function hostPortOf(port: JsonObject): string | undefined {
  return own(port, 'hostPort')
    ? `${ownString(port, 'hostIP') ?? ''} ${formatPort(port, 'hostPort')}`.trim()
    : undefined;
}

/** Fields that an init container may not have: probes and hooks are for native sidecars (KEP-753). */
export function* initContainerFindings(container: JsonObject, path: Path): Findings {
  if (own(container, 'restartPolicy') === 'Always') return;
  for (const field of [...PROBES, 'lifecycle', 'restartPolicyRules']) {
    if (isSet(container, field)) {
      const message = 'not allowed in an init container: remove it, or add restartPolicy: Always';
      yield { path: [...path, field], message };
    }
  }
}

function* imageFindings(container: JsonObject, path: Path): Findings {
  const image = ownString(container, 'image') ?? '';
  const at = [...path, 'image'];
  if (image === '') yield { path: at, message: 'required: write the image to run' };
  else if (image.trim() !== image) yield { path: at, message: 'begins or ends with spaces: remove them' };
  else if (image === AUTO_IMAGE) {
    yield {
      path: at,
      message: `${AUTO_IMAGE} is only for pods that override the template: write an image`,
    };
  }
}

/** What is wrong with the `env` of a container, or of the application's containers. */
export function* envFindings(holder: JsonObject, path: Path): Findings {
  for (const [variable, at] of items(holder, 'env', path)) {
    const source = own(variable, 'valueFrom');
    if (!isObject(source)) continue;
    yield* exactlyOne(source, Object.keys(POD_SCHEMA.EnvVarSource ?? {}), [...at, 'valueFrom'], 'source');
    if (ownString(variable, 'value')) yield { path: at, message: 'has both value and valueFrom: keep one' };
  }
  for (const [from, at] of items(holder, 'envFrom', path)) {
    yield* exactlyOne(from, ['configMapRef', 'secretRef'], at, 'source');
  }
}

/** What is wrong with the `volumeMounts` of a container, or of the application's containers. */
export function* mountFindings(holder: JsonObject, path: Path): Findings {
  for (const [mount, at] of items(holder, 'volumeMounts', path)) {
    if (ownString(mount, 'subPath') && ownString(mount, 'subPathExpr')) {
      yield { path: at, message: 'has both subPath and subPathExpr: keep one' };
    }
  }
  yield* duplicates(
    items(holder, 'volumeMounts', path),
    (mount) => ownString(mount, 'mountPath'),
    'mountPath',
  );
}

/** A volume is mounted or a device, and a path is of one of them. */
function* deviceFindings(container: JsonObject, path: Path): Findings {
  const mounts = Array.from(items(container, 'volumeMounts', path), ([mount]) => mount);
  for (const [device, at] of items(container, 'volumeDevices', path)) {
    for (const [field, other] of [
      ['name', 'name'],
      ['devicePath', 'mountPath'],
    ] as const) {
      const value = ownString(device, field);
      if (value !== undefined && mounts.some((mount) => own(mount, other) === value))
        yield { path: [...at, field], message: `${value} is in volumeMounts, too: keep one` };
    }
  }
}

/** Privileges that include what the container is denied. */
function* privilegeFindings(context: JsonValue | undefined, path: Path): Findings {
  if (own(context, 'allowPrivilegeEscalation') !== false) return;
  const added = own(own(context, 'capabilities'), 'add');
  const isAdmin = isArray(added) && added.includes('CAP_SYS_ADMIN');
  if (own(context, 'privileged') !== true && !isAdmin) return;
  const why = isAdmin ? 'capabilities.add has CAP_SYS_ADMIN' : 'privileged is true';
  yield { path: [...path, 'allowPrivilegeEscalation'], message: `must not be false if ${why}: remove one` };
}

function* resourceFindings(container: JsonObject, path: Path): Findings {
  const resources = own(container, 'resources');
  const objectOf = (value: JsonValue | undefined) => (isObject(value) ? value : undefined);
  const amounts = {
    requests: objectOf(own(resources, 'requests')),
    limits: objectOf(own(resources, 'limits')),
  };
  for (const [list, quantities] of Object.entries(amounts)) {
    for (const [name, quantity] of Object.entries(quantities ?? {})) {
      const at = [...path, 'resources', list, name];
      if (!isResourceName(name)) {
        yield {
          path: at,
          message: 'must be cpu, memory, ephemeral-storage or a name such as example.com/gpu',
        };
      }
      if ((parseQuantity(quantity) ?? 0n) < 0n) yield { path: at, message: 'must not be negative' };
    }
  }
  for (const [name, quantity] of Object.entries(amounts.requests ?? {})) {
    const limit = own(amounts.limits, name);
    const [request = 0n, most] = [parseQuantity(quantity), parseQuantity(limit)];
    const at = [...path, 'resources', 'requests', name];
    if (!isOvercommittable(name) && request !== most) {
      yield { path: at, message: 'must equal the limit: give both the same quantity' };
    } else if (most !== undefined && request > most) {
      yield { path: at, message: `${quantity} exceeds the limit ${limit}: lower it, or raise the limit` };
    }
  }
}

/** Devices and huge pages cannot be overcommitted. */
function isOvercommittable(name: string): boolean {
  return !name.includes('/') && !name.startsWith('hugepages-');
}

function isResourceName(name: string): boolean {
  const standard = /^(cpu|memory|ephemeral-storage|hugepages-[0-9]+[KMG]i)$/.test(name);
  return standard || (name.includes('/') && isQualifiedName(name));
}

function* handlerFindings(holder: JsonValue | undefined, field: string, path: Path): Findings {
  const handler = own(holder, field);
  if (!isObject(handler)) return;
  yield* exactlyOne(handler, HANDLERS, [...path, field], `handler of ${HANDLERS.join(', ')}`);
}

/** Findings for fields that only some kinds of probes may have. */
function* probeFindings(probe: JsonValue | undefined, path: Path, kind: string): Findings {
  const readiness = kind === 'readinessProbe';
  if (!readiness && (own(probe, 'successThreshold') ?? 1) !== 1) {
    yield { path: [...path, 'successThreshold'], message: 'must be 1: only a readinessProbe may have more' };
  }
  if (readiness && own(probe, 'terminationGracePeriodSeconds') !== undefined) {
    const message = 'not allowed in a readinessProbe: remove it';
    yield { path: [...path, 'terminationGracePeriodSeconds'], message };
  }
}

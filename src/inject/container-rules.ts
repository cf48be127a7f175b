import type { Findings } from './fault.ts';
import { type JsonObject, own, ownString } from './json.ts';
import { isEnvName, isPortName } from './names.ts';
import type { Path } from './path.ts';
import { formatPort } from './ports.ts';
import { parseQuantity } from './quantity.ts';
import { dnsLabel, duplicates, exactlyOne, isSet, items, matching, range } from './rules.ts';

/** The image of a pod's own container that means: take the template's, and lay the rest over it. */
export const AUTO_IMAGE = 'auto';

const HANDLERS = ['exec', 'grpc', 'httpGet', 'sleep', 'tcpSocket'];
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'];

/**
 * What the API server's validation would refuse in a container whose shape is right
 * (k8s.io/kubernetes/pkg/apis/core/validation, validateContainerCommon and its neighbours): every pod that
 * got such a container would be refused with it.
 */
export function* containerFindings(container: JsonObject, path: Path): Findings {
  yield* dnsLabel(container, path);
  yield* imageFindings(container, path);
  yield* portFindings(container, path);
  yield* envFindings(container, path);
  yield* mountFindings(container, path);
  yield* resourceFindings(container, path);
  for (const probe of PROBES) yield* handlerFindings(container, probe, path);
  for (const hook of ['postStart', 'preStop']) {
    yield* handlerFindings(own(container, 'lifecycle'), hook, [...path, 'lifecycle']);
  }
}

/** What an init container may not have: probes and hooks are for those that keep running (KEP-753). */
export function* initContainerFindings(container: JsonObject, path: Path): Findings {
  const restartPolicy = own(container, 'restartPolicy');
  if (isSet(container, 'restartPolicy') && restartPolicy !== 'Always') {
    yield { path: [...path, 'restartPolicy'], message: 'must be Always, for a native sidecar, or left out' };
  }
  if (restartPolicy === 'Always') return;
  for (const field of [...PROBES, 'lifecycle']) {
    if (isSet(container, field)) {
      const message = 'an init container may not have it: remove it, or add restartPolicy: Always';
      yield { path: [...path, field], message };
    }
  }
}

function* imageFindings(container: JsonObject, path: Path): Findings {
  const image = ownString(container, 'image') ?? '';
  const at = [...path, 'image'];
  if (image === '') yield { path: at, message: 'required: write the image to run' };
  else if (image.trim() !== image) yield { path: at, message: 'has blanks around it: remove them' };
  else if (image === AUTO_IMAGE) {
    yield {
      path: at,
      message: `${AUTO_IMAGE} is for a pod that overrides the template: write the image here`,
    };
  }
}

function* portFindings(container: JsonObject, path: Path): Findings {
  for (const [port, at] of items(container, 'ports', path)) {
    yield* range(port, 'containerPort', at, 1, 65535);
    yield* range(port, 'hostPort', at, 0, 65535);
    const message = 'must be at most 15 lower-case letters, digits and hyphens, with a letter';
    yield* matching(port, 'name', at, isPortName, message);
  }
  yield* duplicates(items(container, 'ports', path), (port) => formatPort(port), 'containerPort');
  yield* duplicates(items(container, 'ports', path), (port) => ownString(port, 'name'), 'name');
}

/** What is wrong with the `env` of a container, or of the application's containers. */
export function* envFindings(holder: JsonObject, path: Path): Findings {
  for (const [variable, at] of items(holder, 'env', path)) {
    yield* matching(variable, 'name', at, isEnvName, 'must be printable ASCII without "="');
    const source = own(variable, 'valueFrom');
    if (!isSet(variable, 'valueFrom')) continue;
    const sources = ['configMapKeyRef', 'fieldRef', 'fileKeyRef', 'resourceFieldRef', 'secretKeyRef'];
    yield* exactlyOne(source as JsonObject, sources, [...at, 'valueFrom'], 'source');
    if (ownString(variable, 'value')) yield { path: at, message: 'has both value and valueFrom: keep one' };
  }
  yield* duplicates(items(holder, 'env', path), (variable) => ownString(variable, 'name'), 'name');
}

/** What is wrong with the `volumeMounts` of a container, or of the application's containers. */
export function* mountFindings(holder: JsonObject, path: Path): Findings {
  for (const [mount, at] of items(holder, 'volumeMounts', path)) {
    yield* matching(mount, 'mountPath', at, (value) => value !== '', 'required: write a path');
    if (ownString(mount, 'subPath') && ownString(mount, 'subPathExpr')) {
      yield { path: at, message: 'has both subPath and subPathExpr: keep one' };
    }
    for (const field of ['subPath', 'subPathExpr']) {
      const message = 'must be a path inside the volume: relative, without ".."';
      yield* matching(mount, field, at, isDescending, message);
    }
  }
  yield* duplicates(
    items(holder, 'volumeMounts', path),
    (mount) => ownString(mount, 'mountPath'),
    'mountPath',
  );
}

function* resourceFindings(container: JsonObject, path: Path): Findings {
  const at = [...path, 'resources'];
  const resources = own(container, 'resources');
  const requests = own(resources, 'requests');
  const limits = own(resources, 'limits');
  for (const [field, amounts] of Object.entries({ requests, limits })) {
    for (const [name, amount] of Object.entries(amounts ?? {})) {
      if ((parseQuantity(amount) ?? 0n) < 0n)
        yield { path: [...at, field, name], message: 'must not be negative' };
    }
  }
  for (const [name, amount] of Object.entries(requests ?? {})) {
    const limit = own(limits, name);
    const [request, most] = [parseQuantity(amount), parseQuantity(limit)];
    if (request !== undefined && most !== undefined && request > most) {
      yield { path: [...at, 'requests', name], message: `${amount} is more than the limit ${limit}` };
    }
  }
}

function* handlerFindings(holder: JsonObject[string] | undefined, field: string, path: Path): Findings {
  const handler = own(holder, field);
  if (handler === undefined || handler === null) return;
  yield* exactlyOne(handler as JsonObject, HANDLERS, [...path, field], `handler of ${HANDLERS.join(', ')}`);
}

/** Whether a path stays inside the directory that it starts from. */
export function isDescending(path: string): boolean {
  return !path.startsWith('/') && !path.split('/').includes('..');
}

import { type JsonObject, own, ownString } from '../../util/json.ts';
import type { EnvoyFiles } from '../envoy/files.ts';
import { listeningPorts } from '../envoy/listening-ports.ts';
import { CEL_ALL_CONTAINERS, celAnyOf, celHasKey, celString, celStrings } from '../podspec/cel.ts';
import { placeOf, UNCLEAN_PATH } from '../podspec/mount-path.ts';
import { nameOf, SECCOMP_ANNOTATION } from '../podspec/pod.ts';
import type { MergeRule } from '../rule.ts';
import { ITEM_KINDS, KINDS } from '../template/kinds.ts';
import { celHasShape } from '../template/pod-shapes.ts';
import type { Template } from '../template/template.ts';

export const conflict = {
  reason: 'conflict',
  help: 'the pod already uses a port, name or path of the template',
  warn: true,
  // An item with the template's name may be equal to the template's: the webhook checks it.
  cel({ template, envoyFiles = [] }) {
    const found = conflicts(template, envoyFiles);
    return found.length === 0 ? undefined : { unless: celAnyOf(found) };
  },
} as const satisfies MergeRule;

function conflicts(template: Template, envoyFiles: readonly EnvoyFiles[]): readonly string[] {
  return [
    anyPort(template, envoyFiles),
    // Pull secrets of one name are the same.
    ...ITEM_KINDS.filter((kind) => kind !== 'imagePullSecrets').map((kind) =>
      anyOf(`object.spec.${kind}`, KINDS[kind].key, template[kind]),
    ),
    inContainers(anyOf('c.env', KINDS.env.key, template.env)),
    atPlaces(template.volumeMounts),
    own(template.securityContext, 'seccompProfile') && celHasKey('annotations', SECCOMP_ANNOTATION),
    own(template.annotations, SECCOMP_ANNOTATION) &&
      'has(object.spec.securityContext) && has(object.spec.securityContext.seccompProfile)',
    ...template.incompatibleShapes.map(({ shape }) => celHasShape(shape)),
  ].filter((expression) => typeof expression === 'string');
}

/** More numbers are not compared: each pod that declares a port is left to the webhook. */
const MAX_PORTS = 1_000;

function anyPort(
  { containers, initContainers, volumes }: Template,
  envoyFiles: readonly EnvoyFiles[],
): string | undefined {
  const ports = [...containers, ...initContainers].flatMap((container) =>
    [undefined, ...envoyFiles].flatMap((files) => listeningPorts(container, volumes, files)),
  );
  const numbers = (field: string) => [
    ...new Set(ports.map((port) => own(port, field)).filter((n) => typeof n === 'number' && n !== 0)),
  ];
  const [container, host] = [numbers('containerPort'), numbers('hostPort')];
  if (container.length === 0) return undefined;
  if (container.length > MAX_PORTS) return `${CEL_ALL_CONTAINERS}.exists(c, has(c.ports))`;
  const onHost = host.length === 0 ? '' : ` || (has(p.hostPort) && p.hostPort in [${host.join(', ')}])`;
  const names = [...new Set(ports.map(nameOf))].filter((name) => name !== '');
  const byName = names.length === 0 ? '' : ` || (has(p.name) && p.name in ${celStrings(names)})`;
  const taken = `p.containerPort in [${container.join(', ')}]${onHost}${byName}`;
  return `${CEL_ALL_CONTAINERS}.exists(c, has(c.ports) && c.ports.exists(p, ${taken}))`;
}

function anyOf(list: string, field: string, items: readonly JsonObject[]): string | undefined {
  const values = items.map((each) => own(each, field)).filter((value) => typeof value === 'string');
  if (values.length === 0) return undefined;
  return `has(${list}) && ${list}.exists(i, i.${field} in ${celStrings(values)})`;
}

/** A path that is not clean may name the place of a mount, and devices share the places of mounts. */
function atPlaces(mounts: readonly JsonObject[]): string | undefined {
  if (mounts.length === 0) return undefined;
  const places = celStrings(mounts.map((mount) => placeOf(ownString(mount, 'mountPath') ?? '')));
  const found = `m.mountPath in ${places} || m.mountPath.matches(${celString(UNCLEAN_PATH)})`;
  return inContainers(`has(c.volumeDevices) || has(c.volumeMounts) && c.volumeMounts.exists(m, ${found})`);
}

function inContainers(found: string | undefined): string | undefined {
  return found && `object.spec.containers.exists(c, ${found})`;
}

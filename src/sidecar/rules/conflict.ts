import { type JsonObject, own, ownObjects } from '../../json/json.ts';
import { CEL_ALL_CONTAINERS, celAnyOf, celStrings } from '../../podspec/cel.ts';
import type { MergeRule } from '../rule.ts';
import { celHasShape } from '../template/pod-shapes.ts';
import type { Template } from '../template/template.ts';

export const conflict = {
  reason: 'conflict',
  help: 'the pod already uses a port, name or path of the template',
  warn: true,
  // An item with the template's name may be equal to the template's: the webhook checks it.
  cel({ template }) {
    const found = conflicts(template);
    return found.length === 0 ? undefined : { unless: celAnyOf(found) };
  },
} as const satisfies MergeRule;

function conflicts(template: Template): readonly string[] {
  return [
    anyPort([...template.containers, ...template.initContainers]),
    anyOf('object.spec.volumes', 'v', 'name', template.volumes),
    anyOf('object.spec.hostAliases', 'a', 'ip', template.hostAliases),
    inContainers('env', 'e', 'name', template.env),
    inContainers('volumeMounts', 'm', 'mountPath', template.volumeMounts),
    ...template.misfits.map(({ shape }) => celHasShape(shape)),
  ].filter((expression) => expression !== undefined);
}

function anyPort(containers: readonly JsonObject[]): string | undefined {
  const ports = containers.flatMap((container) => ownObjects(container, 'ports'));
  const numbers = (field: string) => [
    ...new Set(ports.map((port) => own(port, field)).filter((n) => typeof n === 'number' && n !== 0)),
  ];
  const [container, host] = [numbers('containerPort'), numbers('hostPort')];
  if (container.length === 0) return undefined;
  const onHost = host.length === 0 ? '' : ` || (has(p.hostPort) && p.hostPort in [${host.join(', ')}])`;
  const taken = `p.containerPort in [${container.join(', ')}]${onHost}`;
  return `${CEL_ALL_CONTAINERS}.exists(c, has(c.ports) && c.ports.exists(p, ${taken}))`;
}

function anyOf(list: string, item: string, field: string, items: readonly JsonObject[]): string | undefined {
  const values = items.map((each) => own(each, field)).filter((value) => typeof value === 'string');
  if (values.length === 0) return undefined;
  return `has(${list}) && ${list}.exists(${item}, ${item}.${field} in ${celStrings(values)})`;
}

function inContainers(
  list: string,
  item: string,
  field: string,
  items: readonly JsonObject[],
): string | undefined {
  const found = anyOf(`c.${list}`, item, field, items);
  return found === undefined ? undefined : `object.spec.containers.exists(c, ${found})`;
}

import { celGroup, celString, celWhen } from '../../injection/podspec/cel.ts';
import { appliedTemplate, formatStatus } from '../../injection/status.ts';
import { APP_KINDS, ITEM_KINDS, KINDS, type Kind, MAP_KINDS } from '../../injection/template/kinds.ts';
import type { InjectionOptions } from '../../injection/template/options.ts';
import type { Template } from '../../injection/template/template.ts';
import { ownString } from '../../util/json.ts';
import type { Variable } from './additions.ts';
import { sidecarMembers } from './sidecars.ts';

/**
 * The text of the status annotation as an expression. It is what `formatStatus` writes: the names of the added items, in
 * the order in which `inject` adds them.
 */
export function statusExpression(
  template: Template,
  options: InjectionOptions,
  variables: readonly Variable[],
): string {
  const { before, after } = frame(template);
  const conditional = (kind: Kind) => {
    if (!variables.some(({ name }) => name === kind)) return [];
    const names = `variables.${kind}.join(${celString('","')})`;
    const text = `${celString(`"${kind}":["`)} + ${names} + ${celString('"]')}`;
    return [celWhen(`size(variables.${kind}) > 0`, text)];
  };
  const members = [
    ...sidecarMembers(template, options),
    ...APP_KINDS.flatMap((kind) => perContainer(kind, keysOf(template, kind))),
    ...ITEM_KINDS.flatMap((kind) =>
      kind === 'imagePullSecrets' ? conditional(kind) : fixed(kind, keysOf(template, kind)),
    ),
    ...MAP_KINDS.flatMap(conditional),
  ];
  if (members.length === 0) return celString(`${before}${after}`);
  return `${celString(before)} + ${celGroup('[', members, ']')}.join(",") + ${celString(after)}`;
}

/** The text around the members of `added`, which is the same for every pod. */
function frame(template: Template): { readonly before: string; readonly after: string } {
  const marker = 'names';
  const empty = formatStatus({
    templates: [appliedTemplate(template)],
    added: { containers: [marker] },
    overlaid: {},
    moved: {},
    requests: {},
  });
  const [before = '', after = ''] = empty.split(`"containers":["${marker}"]`);
  return { before, after };
}

function keysOf(template: Template, kind: (typeof APP_KINDS | typeof ITEM_KINDS)[number]): readonly string[] {
  return template[kind].map((item) => ownString(item, KINDS[kind].key) ?? '');
}

function fixed(kind: Kind, names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [celString(`"${kind}":${JSON.stringify(names)}`)];
}

/** `CONTAINER/NAME` for every container of the pod and every name. */
function perContainer(kind: Kind, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const each = names.map((name) => `"\\"" + c.name + ${celString(JSON.stringify(`/${name}`).slice(1))}`);
  const items = each.join(' + "," + ');
  return [`${celString(`"${kind}":[`)} + object.spec.containers.map(c, ${items}).join(",") + "]"`];
}

import { celString } from '../../injection/podspec/cel.ts';
import { nameOf } from '../../injection/podspec/pod.ts';
import type { InjectionOptions } from '../../injection/template/options.ts';
import type { Template } from '../../injection/template/template.ts';
import { celAdd, celMake, celObject } from './literal.ts';

/** Whether a template's containers become native sidecars: in all pods, in none, or by the variable `native`. */
export type Native = boolean | 'variable';

export function nativeOf({ containers }: Template, { nativeSidecar }: InjectionOptions): Native {
  if (containers.length === 0) return false;
  return nativeSidecar === 'jobs' ? 'variable' : nativeSidecar === 'always';
}

/** Whether the pod is meant to finish, which an ordinary sidecar would prevent. */
export const NATIVE_VARIABLE = 'has(object.spec.restartPolicy) && object.spec.restartPolicy != "Always"';

/** The operations that add the containers of a template. */
export function sidecarOperations(template: Template, options: InjectionOptions): readonly string[] {
  const native = nativeOf(template, options);
  const { containers, initContainers } = template;
  const added = initContainers.map((container, index) =>
    celAdd(at('initContainers', index, options), celObject(container, 'Container', 'spec.initContainers')),
  );
  const others = containers.map((container, index) => {
    const asNative = at('initContainers', initContainers.length + index, options);
    const ordinary = at('containers', index, options);
    const path =
      native === 'variable' ? `variables.native ? ${asNative} : ${ordinary}` : native ? asNative : ordinary;
    const type = native === true ? 'spec.initContainers' : 'spec.containers';
    return celAdd(path, celObject(container, 'Container', type, restartPolicy(native)));
  });
  return [...makeInitContainers(template, native), ...added, ...others];
}

function at(list: string, index: number, { position }: InjectionOptions): string {
  return celString(`/spec/${list}/${position === 'first' ? index : '-'}`);
}

function restartPolicy(native: Native): readonly string[] {
  const always = celString('Always');
  if (native === 'variable')
    return [`?restartPolicy: variables.native ? optional.of(${always}) : optional.none()`];
  return native ? [`restartPolicy: ${always}`] : [];
}

function makeInitContainers({ initContainers }: Template, native: Native): readonly string[] {
  if (initContainers.length === 0 && native === false) return [];
  const onlySome = initContainers.length === 0 && native === 'variable';
  return [celMake(['spec', 'initContainers'], '[]', onlySome ? 'variables.native' : undefined)];
}

/** The members of the status that name the containers, as expressions. */
export function sidecarMembers(template: Template, options: InjectionOptions): readonly string[] {
  const [init, ordinary] = [template.initContainers.map(nameOf), template.containers.map(nameOf)];
  const asOrdinary = [...nameMember('initContainers', init), ...nameMember('containers', ordinary)];
  const asNative = nameMember('initContainers', [...init, ...ordinary]);
  const native = nativeOf(template, options);
  if (native !== 'variable') return (native ? asNative : asOrdinary).map(celString);
  return [`variables.native ? ${celString(asNative.join(','))} : ${celString(asOrdinary.join(','))}`];
}

/** The member of the status with the names of a kind, as JSON. */
export function nameMember(kind: string, names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [`"${kind}":${JSON.stringify(names)}`];
}

/** The condition to set the default container of kubectl: a sidecar is placed before the first container. */
export function defaultContainerCondition(template: Template, options: InjectionOptions): string | undefined {
  const native = nativeOf(template, options);
  if (options.position !== 'first' || template.containers.length === 0 || native === true) return undefined;
  return native === 'variable' ? '!variables.native' : 'true';
}

import type { KubeObject, ObjectKey } from '../../../kube/api/object.ts';
import type { Fitting } from '../../../util/shape.ts';
import type { RouteFault } from './findings.ts';
import type { Action, Target } from './model.ts';
import { type ParsedRoute, targetsIn } from './parse.ts';
import { kindOf } from './route.ts';

/** The shape of the part of a ReferenceGrant of the Gateway API that routing reads: who may name what in its namespace. */
export const GRANT = {
  spec: {
    from: [{ group: 'string', kind: 'string', namespace: 'string' }],
    to: [{ group: 'string', kind: 'string', 'name?': 'string' }],
  },
} as const;

export type ReferenceGrant = KubeObject & Fitting<typeof GRANT>;

/** Whether routes of a kind in a namespace may name a Service of another one. */
export type IsGranted = (kind: string, from: string, service: ObjectKey) => boolean;

/** Of one namespace, the first by name: there is no other limit, and each may name 16 Services for 16 namespaces. */
const MAX_GRANTS = 256;

/** Reads grants. What the routes of one namespace may name in another one is looked up once. */
export function grantsOf(grants: readonly ReferenceGrant[]): IsGranted {
  const byNamespace = Map.groupBy(grants, ({ metadata }) => metadata.namespace ?? '');
  const known = new Map<string, ReadonlySet<string | undefined>>();
  return (kind, from, service) => {
    const [namespace = '', name = ''] = service.split('/');
    const pair = `${kind} ${from}/${namespace}`;
    const names = known.get(pair) ?? namesFor(kind, from, firstByName(byNamespace.get(namespace) ?? []));
    known.set(pair, names);
    return names.has(undefined) || names.has(name);
  };
}

function firstByName(grants: readonly ReferenceGrant[]): readonly ReferenceGrant[] {
  if (grants.length <= MAX_GRANTS) return grants;
  return grants.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).slice(0, MAX_GRANTS);
}

/** The names of the Services that routes of a namespace may use; undefined among them stands for all. */
function namesFor(
  route: string,
  from: string,
  grants: readonly ReferenceGrant[],
): ReadonlySet<string | undefined> {
  const names = grants
    .filter(({ spec }) =>
      spec.from.some(({ group, kind, namespace }) => group === GROUP && kind === route && namespace === from),
    )
    .flatMap(({ spec }) => spec.to.filter(isService).map(({ name }) => name || undefined));
  return new Set(names);
}

const GROUP = 'gateway.networking.k8s.io';
const isService = ({ group, kind }: { readonly group: string; readonly kind: string }) =>
  group === '' && kind === 'Service';

/**
 * A producer route, with errors in place of the backends that no ReferenceGrant lets it name, and without such mirrors.
 * It decides for clients of all namespaces: they may reach Services that its author may not (ADR 27).
 */
export function withoutUngranted(route: ParsedRoute, isGranted: IsGranted): ParsedRoute {
  const { namespace = '' } = route.object.metadata;
  const kind = kindOf(route.object);
  const isRefused = ({ service }: Target) =>
    !service.startsWith(`${namespace}/`) && !isGranted(kind, namespace, service);
  const refused = targetsIn(route).filter(({ target }) => isRefused(target));
  if (refused.length === 0) return route;
  const faults = refused.map(({ target: { service }, path }): RouteFault => {
    const message = `no ReferenceGrant lets ${kind}s in namespace ${namespace} use Service ${service}: create one in the Service's namespace`;
    return { reason: 'RefNotPermitted', path, message };
  });
  const permitted = (action: Action): Action => {
    if (action.kind !== 'forward') return action;
    const backends = action.backends.map((backend) =>
      'broken' in backend || !isRefused(backend)
        ? backend
        : { weight: backend.weight, broken: true as const },
    );
    return { ...action, backends, mirrors: action.mirrors.filter((mirror) => !isRefused(mirror)) };
  };
  const rules = route.rules.map((rule) => ({ ...rule, action: permitted(rule.action) }));
  return { ...route, rules, faults: [...route.faults, ...faults] };
}

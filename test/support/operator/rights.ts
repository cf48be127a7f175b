import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

const OPERATOR = 'system:serviceaccount:envoy-initializer:envoy-initializer';

/** A call of the operator, as the API server's audit log has it. */
export interface Call {
  readonly verb: string;
  /** `resource[/subresource][.group]` */
  readonly resource: string;
  readonly namespace: string;
  /** Also of a list or watch that a field selector limits to one name. */
  readonly name: string;
  readonly uri: string;
  readonly isForbidden: boolean;
  /** The status of the answer. */
  readonly code: number;
  /** By the ValidatingAdmissionPolicy of deploy/base/fence.yaml. */
  readonly isFenced: boolean;
}

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly requestURI: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly annotations?: Readonly<Record<string, string>>;
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
}

/** All calls that the operator, or another user, has made under its service account. */
export async function operatorCalls(auditLogPath: string, user = OPERATOR): Promise<readonly Call[]> {
  const calls: Call[] = [];
  // The log of a large test does not fit into one string.
  for await (const line of createInterface({ input: createReadStream(auditLogPath) })) {
    if (!line.includes(user)) continue;
    const event = JSON.parse(line) as AuditEvent;
    if (event.user.username === user) calls.push(callOf(event));
  }
  return calls;
}

function callOf({ verb, requestURI, objectRef = {}, annotations, responseStatus }: AuditEvent): Call {
  return {
    verb,
    resource: qualified(
      objectRef.subresource ? `${objectRef.resource}/${objectRef.subresource}` : (objectRef.resource ?? ''),
      objectRef.apiGroup,
    ),
    namespace: objectRef.namespace ?? '',
    name: objectRef.name ?? '',
    uri: requestURI,
    code: responseStatus?.code ?? 0,
    // A create in a namespace that is going is refused by admission, and is not among these.
    isForbidden: annotations?.['authorization.k8s.io/decision'] === 'forbid',
    isFenced: responseStatus?.message?.includes('envoy-initializer-fence') ?? false,
  };
}

/**
 * `VERB URI` of the calls that RBAC has refused, each once. Not of those that it has also let pass: an API server that was
 * started a moment ago, and has not read its roles yet, refuses everything.
 */
export async function forbiddenCalls(auditLogPath: string, user = OPERATOR): Promise<readonly string[]> {
  return textsOf(neverGranted(await operatorCalls(auditLogPath, user)));
}

function neverGranted(calls: readonly Call[]): readonly Call[] {
  const right = ({ verb, resource, namespace, name }: Call) => [verb, resource, namespace, name].join(' ');
  const granted = new Set(calls.filter(({ isForbidden }) => !isForbidden).map(right));
  return calls.filter((call) => call.isForbidden && !granted.has(right(call)));
}

/** `VERB URI` of calls, each once. */
function textsOf(calls: readonly Call[]): readonly string[] {
  return [...new Set(calls.map(({ verb, uri }) => `${verb} ${uri}`))];
}

/** `VERB URI` of the operator's calls that the fence has refused, each once. */
export async function fencedCalls(auditLogPath: string, user = OPERATOR): Promise<readonly string[]> {
  return textsOf((await operatorCalls(auditLogPath, user)).filter(({ isFenced }) => isFenced));
}

/** A control plane whose audit log is read. */
interface Audited {
  readonly auditLogPath: string;
  kubectl(args: readonly string[]): Promise<{ readonly code: number | null }>;
}

/**
 * @throws where RBAC or the fence has refused one of the users anything. Not what its roles allow by now: they came later, or
 * the API server had just started.
 */
export async function nothingRefused(from: Audited, ...users: readonly string[]): Promise<void> {
  for (const user of users.length > 0 ? users : [OPERATOR]) {
    const calls = await operatorCalls(from.auditLogPath, user);
    const refused = calls.filter(({ isFenced }) => isFenced);
    for (const call of neverGranted(calls)) if (!(await isAllowed(from, call, user))) refused.push(call);
    if (refused.length > 0) throw new Error(`${user} was refused: ${textsOf(refused).join(', ')}`);
  }
}

async function isAllowed(
  from: Audited,
  { verb, resource, namespace, name }: Call,
  user: string,
): Promise<boolean> {
  const [, plural = '', subresource, group] = /^([^/.]+)(?:\/([^.]+))?(?:\.(.+))?$/.exec(resource) ?? [];
  const type = `${plural}${group === undefined ? '' : `.${group}`}${name === '' ? '' : `/${name}`}`;
  const scope = namespace === '' ? [] : ['--namespace', namespace];
  const sub = subresource === undefined ? [] : [`--subresource=${subresource}`];
  const { code } = await from.kubectl(['auth', 'can-i', verb, type, ...sub, ...scope, `--as=${user}`]);
  return code === 0;
}

/** A rule of rbac.authorization.k8s.io/v1. */
interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** One verb on one resource, of one name where it is limited to that. */
export interface Grant {
  readonly verb: string;
  readonly resource: string;
  readonly name: string | undefined;
}

/** What the rules grant, verb by verb. */
export function grantsOf(rules: readonly Rule[]): readonly Grant[] {
  return rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        (resourceNames ?? [undefined]).flatMap((name) =>
          verbs.map((verb) => ({ verb, resource: qualified(resource, group), name })),
        ),
      ),
    ),
  );
}

/** `VERB RESOURCE [NAME]` of what is granted and none of the calls needs. */
export function unusedGrants(grants: readonly Grant[], calls: readonly Call[]): readonly string[] {
  return grants
    .filter(
      ({ verb, resource, name }) =>
        !calls.some(
          (call) =>
            call.verb === verb && call.resource === resource && (name === undefined || call.name === name),
        ),
    )
    .map(({ verb, resource, name }) => [verb, resource, ...(name === undefined ? [] : [name])].join(' '))
    .toSorted();
}

function qualified(resource: string, group = ''): string {
  return group === '' ? resource : `${resource}.${group}`;
}

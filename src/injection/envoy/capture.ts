import { type JsonObject, own, ownList, ownObjects, ownString } from '../../util/json.ts';
import {
  argumentsOf,
  containerFinder,
  containers,
  flagValue,
  initContainers,
  isNativeSidecar,
  nameOf,
  type Pod,
  specField,
} from '../podspec/pod.ts';
import type { Template } from '../template/template.ts';

/** The user whose connections capture.sh lets pass, unless PROXY_UID says another. */
const DEFAULT_UID = 1337;
/** What says another in a command: of istio-iptables, linkerd-init, consul, kumactl, iptables itself, or a script. */
const UID_FLAGS = ['-u', '--proxy-uid', '-proxy-uid', '--kuma-dp-uid', '--uid-owner', 'PROXY_UID'];

/** An init container of a template that sends the connections of the pod to Envoy, by rules of iptables. */
export interface Capture {
  readonly name: string;
  /** The user whose connections it lets pass: Envoy's. */
  readonly uid: number;
}

/** The first of these containers that captures, and says for whom it does not. */
export function findCapture(all: readonly JsonObject[]): Capture | undefined {
  for (const container of all) {
    const uid = isNetAdmin(container) ? passedUid(container) : Number.NaN;
    if (Number.isInteger(uid)) return { name: nameOf(container), uid };
  }
  return undefined;
}

function isNetAdmin(container: JsonObject): boolean {
  const context = own(container, 'securityContext');
  const added = ownList(own(context, 'capabilities'), 'add');
  const isAdmin = (name: unknown) => /^(?:cap_)?(?:net_admin|all)$/i.test(String(name));
  return own(context, 'privileged') === true || added.some(isAdmin);
}

/** NaN if it says nothing. */
function passedUid(container: JsonObject): number {
  // The last one counts; an empty value is none, as for capture.sh.
  const variable = ownObjects(container, 'env').findLast((each) => nameOf(each) === 'PROXY_UID');
  const value = ownString(variable, 'value') || flagValue(container, UID_FLAGS, /^\d+$/);
  if (value !== undefined) return Number(value);
  const runs = argumentsOf(container).some((argument) => /capture\.sh([\s;"']|$)/.test(argument));
  const isDefault = runs && !own(variable, 'valueFrom');
  return isDefault ? DEFAULT_UID : Number.NaN;
}

/** The user that a container runs as, as far as the pod says. */
export function userOf(container: JsonObject, pod: Pod): unknown {
  const said = own(own(container, 'securityContext'), 'runAsUser');
  return said ?? own(specField(pod, 'securityContext'), 'runAsUser') ?? undefined;
}

/** The pod's own containers, all but these, that run as Envoy's user: their requests do not reach Envoy. */
function runAsEnvoy(pod: Pod, capture: Capture, sidecars: ReadonlySet<string>): readonly string[] {
  const isOwn = (container: JsonObject) => !sidecars.has(nameOf(container));
  const inits = initContainers(pod);
  const at = inits.findIndex((container) => nameOf(container) === capture.name);
  const isEarly = (container: JsonObject, index: number) =>
    index < at && isOwn(container) && !isNativeSidecar(container);
  const captured = [...containers(pod), ...inits.filter((container, index) => !isEarly(container, index))];
  return captured.filter((each) => isOwn(each) && userOf(each, pod) === capture.uid).map(nameOf);
}

type Sidecars = Pick<Template, 'containers' | 'initContainers'>;

/** The container of a template that gets the connections: the first that keeps running. */
export function proxyOf({ containers: running, initContainers: inits }: Sidecars): JsonObject | undefined {
  return running[0] ?? inits.find(isNativeSidecar);
}

/** What is wrong with the users of an injected pod, if one of its templates captures: one sentence each. */
export function proxyUserFaults(pod: Pod, templates: readonly Sidecars[]): readonly string[] {
  const find = containerFinder(pod);
  for (const template of templates) {
    const inits = new Set(template.initContainers.map(nameOf));
    const capture = findCapture(initContainers(pod).filter((each) => inits.has(nameOf(each))));
    if (!capture) {
      const overridden = findCapture(template.initContainers);
      if (!overridden) continue;
      return [
        `container ${overridden.name} is overridden and captures nothing, so all connections bypass Envoy: do not override its command or securityContext`,
      ];
    }
    const all = templates.flatMap((each) => [...each.containers, ...each.initContainers]);
    const asEnvoy = runAsEnvoy(pod, capture, new Set(all.map(nameOf)));
    const proxy = find(nameOf(proxyOf(template)))?.container;
    const user = proxy && userOf(proxy, pod);
    return [
      ...asEnvoy.map(
        (name) =>
          `container ${name} runs as user ${capture.uid}, Envoy's own, so its connections bypass Envoy: use another runAsUser`,
      ),
      ...(user === undefined || user === capture.uid
        ? []
        : [
            `container ${nameOf(proxy)} runs as user ${String(user)}, but ${capture.name} lets only user ${capture.uid} pass, so the proxy's own connections loop back: use runAsUser ${capture.uid}`,
          ]),
    ];
  }
  return [];
}

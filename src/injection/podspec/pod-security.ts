import {
  type JsonObject,
  type JsonValue,
  own,
  ownList,
  ownObject,
  ownObjects,
  ownString,
} from '../../util/json.ts';
import {
  containers,
  handlersOf,
  initContainers,
  nameOf,
  type Pod,
  SECCOMP_ANNOTATION,
  specField,
  volumes,
} from './pod.ts';

/** The label of a namespace for the level of pod security that the API server enforces. */
export const ENFORCE_LABEL = 'pod-security.kubernetes.io/enforce';
/** The label of a namespace for the version of the standards, such as `v1.31`; default `latest`. */
export const ENFORCE_VERSION_LABEL = `${ENFORCE_LABEL}-version`;

/** What a namespace enforces. The versions are minor versions of Kubernetes. */
interface PodSecurity {
  readonly level: string | undefined;
  /** The version of the standards; never newer than the API server. */
  readonly version: number;
  /** The API server's own version: Infinity if it is unknown, which stands for the newest. */
  readonly server: number;
}

/**
 * What a namespace with these labels enforces. The API server reads an invalid version as `latest`, and has no rules of
 * versions that are newer than it is. `serverMinor` is the 31 of Kubernetes 1.31; undefined: the newest.
 */
export function podSecurityOf(
  labels: Readonly<Record<string, string>>,
  serverMinor = Number.POSITIVE_INFINITY,
): PodSecurity {
  const label = (name: string) => (Object.hasOwn(labels, name) ? labels[name] : undefined);
  const [, minor] = /^v1\.(0|[1-9]\d*)$/.exec(label(ENFORCE_VERSION_LABEL) ?? '') ?? [];
  const version = minor === undefined ? serverMinor : Math.min(Number(minor), serverMinor);
  return { level: label(ENFORCE_LABEL), version, server: serverMinor };
}

/** The minor version since which the standards have a rule or an exception. */
const SINCE = {
  allowPrivilegeEscalation: 8,
  /** Older standards know only the annotations. */
  seccompProfile: 19,
  dropCapabilities: 22,
  runAsUser: 23,
  /** Of the API server, with any version of the standards. */
  imageVolumes: 33,
  probeHost: 34,
  /** Pods with a user namespace of their own may run as root there. */
  userNamespaces: 35,
} as const;

/** Capabilities that a container may add. */
const CAPABILITIES: readonly JsonValue[] = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
];
/** The sysctls that a pod may set, and the minor version since which it may. */
const SYSCTLS: ReadonlyMap<string, number> = new Map([
  ['kernel.shm_rmid_forced', 0],
  ['net.ipv4.ip_local_port_range', 0],
  ['net.ipv4.ip_unprivileged_port_start', 0],
  ['net.ipv4.ping_group_range', 0],
  ['net.ipv4.tcp_syncookies', 0],
  ['net.ipv4.ip_local_reserved_ports', 27],
  ['net.ipv4.tcp_fin_timeout', 29],
  ['net.ipv4.tcp_keepalive_intvl', 29],
  ['net.ipv4.tcp_keepalive_probes', 29],
  ['net.ipv4.tcp_keepalive_time', 29],
  ['net.ipv4.tcp_rmem', 32],
  ['net.ipv4.tcp_wmem', 32],
  ['net.ipv4.tcp_notsent_lowat', 37],
  ['net.ipv4.tcp_slow_start_after_idle', 37],
]);
/** The same for types of SELinux. */
const SELINUX_TYPES: ReadonlyMap<JsonValue, number> = new Map([
  ['', 0],
  ['container_t', 0],
  ['container_init_t', 0],
  ['container_kvm_t', 0],
  ['container_engine_t', 31],
]);
/** The minor versions in which the standards change, from the first one, 0. */
export const STANDARD_CHANGES: readonly number[] = [
  ...new Set([...Object.values(SINCE), ...SYSCTLS.values(), ...SELINUX_TYPES.values()]),
].sort((a, b) => a - b);
const PROFILES: readonly JsonValue[] = ['RuntimeDefault', 'Localhost'];
const APPARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
const SECCOMP_PREFIX = 'container.seccomp.security.alpha.kubernetes.io/';
const ALLOWED_APPARMOR = /^$|^runtime\/default$|^localhost\//;
const ALLOWED_SECCOMP = /^(runtime|docker)\/default$|^localhost\//;

const VOLUME_SOURCES: readonly string[] = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

/**
 * What the Pod Security Standards forbid in the parts of a pod that a template can add
 * (k8s.io/pod-security-admission/policy, until 1.37). Empty for `privileged` and for unknown levels.
 */
export function podSecurityViolations(pod: Pod, enforced: PodSecurity): readonly string[] {
  const { level, version } = enforced;
  if (level !== 'baseline' && level !== 'restricted') return [];
  // A pod with a user namespace of its own may do more there (KEP-127).
  const isRelaxed = version >= SINCE.userNamespaces && specField(pod, 'hostUsers') === false;
  const violations = [...baselineViolations(pod, version, isRelaxed && level === 'baseline')];
  if (level === 'restricted') violations.push(...restrictedViolations(pod, enforced, isRelaxed));
  return violations;
}

function allContainers(pod: Pod): readonly (readonly [name: string, container: JsonObject])[] {
  return [...initContainers(pod), ...containers(pod)].map((each) => [`container ${nameOf(each)}`, each]);
}

function* baselineViolations(pod: Pod, version: number, mayUnmask: boolean): Generator<string, void> {
  const podContext = specField(pod, 'securityContext');
  yield* annotationViolations(pod, version);
  yield* contextViolations(podContext, 'the pod', version);
  for (const sysctl of ownObjects(podContext, 'sysctls')) {
    const name = nameOf(sysctl);
    if (!isAllowed(SYSCTLS, name, version)) yield `the pod must not set the sysctl ${name}`;
  }
  for (const volume of volumes(pod)) {
    if (own(volume, 'hostPath') != null) yield `volume ${nameOf(volume)} must not be a hostPath`;
  }
  for (const [name, container] of allContainers(pod)) {
    const context = own(container, 'securityContext');
    yield* contextViolations(context, name, version);
    if (own(context, 'privileged') === true) yield `${name} must not be privileged`;
    for (const capability of ownList(own(context, 'capabilities'), 'add')) {
      if (!CAPABILITIES.includes(capability)) yield `${name} must not add the capability ${capability}`;
    }
    if (ownObjects(container, 'ports').some((port) => own(port, 'hostPort')))
      yield `${name} must not use a hostPort`;
    if (version >= SINCE.probeHost && handlersOf(container).some((handler) => ownString(handler, 'host')))
      yield `${name} must not set the host of a probe or hook`;
    if (!mayUnmask && (own(context, 'procMount') ?? 'Default') !== 'Default')
      yield `${name} must not set procMount`;
  }
}

function isAllowed<T>(allowed: ReadonlyMap<T, number>, value: T, version: number): boolean {
  const since = allowed.get(value);
  return since !== undefined && version >= since;
}

function* annotationViolations(pod: Pod, version: number): Generator<string, void> {
  const annotations = ownObject(own(pod, 'metadata'), 'annotations');
  const seccomp = [
    SECCOMP_ANNOTATION,
    ...allContainers(pod).map(([, each]) => SECCOMP_PREFIX + nameOf(each)),
  ];
  for (const [key, value] of Object.entries(annotations)) {
    const isBad =
      (key.startsWith(APPARMOR_PREFIX) && !ALLOWED_APPARMOR.test(String(value))) ||
      (version < SINCE.seccompProfile && seccomp.includes(key) && !ALLOWED_SECCOMP.test(String(value)));
    if (isBad) yield `the pod must not set the annotation ${key} to ${value}`;
  }
}

/** Violations in fields that the security contexts of pods and containers share. */
function* contextViolations(
  context: JsonValue | undefined,
  name: string,
  version: number,
): Generator<string, void> {
  for (const profile of ['seccompProfile', 'appArmorProfile']) {
    if (profile === 'seccompProfile' && version < SINCE.seccompProfile) continue;
    const type = own(own(context, profile), 'type');
    if (type !== undefined && !PROFILES.includes(type)) yield `${name} must not set ${profile} to ${type}`;
  }
  const selinux = own(context, 'seLinuxOptions');
  const isKnownType = isAllowed(SELINUX_TYPES, own(selinux, 'type') ?? '', version);
  if (!isKnownType || ownString(selinux, 'user') || ownString(selinux, 'role')) {
    yield `${name} sets forbidden seLinuxOptions`;
  }
}

/** What the level `restricted` forbids beyond `baseline`. */
function* restrictedViolations(
  pod: Pod,
  { version, server }: PodSecurity,
  mayBeRoot: boolean,
): Generator<string, void> {
  const podContext = specField(pod, 'securityContext');
  const sources = server >= SINCE.imageVolumes ? [...VOLUME_SOURCES, 'image'] : VOLUME_SOURCES;
  for (const volume of volumes(pod)) {
    const given = Object.keys(volume).filter((field) => field !== 'name' && own(volume, field) != null);
    // Without a source, it is an emptyDir.
    if (given.length > 0 && !given.some((source) => sources.includes(source)))
      yield `volume ${nameOf(volume)} has a type that is not allowed`;
  }
  const isRoot = (context: JsonValue | undefined) =>
    version >= SINCE.runAsUser && own(context, 'runAsUser') === 0;
  if (!mayBeRoot && isRoot(podContext)) yield 'the pod must not set runAsUser to 0';
  // Even if each container sets true itself.
  if (!mayBeRoot && own(podContext, 'runAsNonRoot') === false)
    yield 'the pod must not set runAsNonRoot to false';
  for (const [name, container] of allContainers(pod)) {
    const context = own(container, 'securityContext');
    const said = (field: string) => own(context, field) ?? own(podContext, field);
    if (version >= SINCE.allowPrivilegeEscalation && own(context, 'allowPrivilegeEscalation') !== false)
      yield `${name} must set allowPrivilegeEscalation to false`;
    if (version >= SINCE.dropCapabilities) {
      const capabilities = own(context, 'capabilities');
      if (!ownList(capabilities, 'drop').includes('ALL')) yield `${name} must drop ALL capabilities`;
      for (const capability of ownList(capabilities, 'add')) {
        if (capability !== 'NET_BIND_SERVICE') yield `${name} must not add the capability ${capability}`;
      }
    }
    if (version >= SINCE.seccompProfile && own(said('seccompProfile'), 'type') === undefined)
      yield `${name} must set a seccompProfile`;
    if (mayBeRoot) continue;
    if (said('runAsNonRoot') !== true) yield `${name} must set runAsNonRoot to true`;
    if (isRoot(context)) yield `${name} must not set runAsUser to 0`;
  }
}

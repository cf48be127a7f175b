import { isArray, type JsonObject, type JsonValue, own, ownObjects, ownString } from '../../json/json.ts';
import { containers, initContainers, nameOf, type Pod, specField, volumes } from '../pod.ts';
import { isSet } from '../rules/rules.ts';

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
const SYSCTLS: readonly string[] = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ping_group_range',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.tcp_wmem',
];
const SELINUX_TYPES: readonly JsonValue[] = [
  '',
  'container_t',
  'container_init_t',
  'container_kvm_t',
  'container_engine_t',
];
const PROFILES: readonly JsonValue[] = ['RuntimeDefault', 'Localhost'];

/** What the level `baseline` forbids. */
export function* baselineViolations(pod: Pod): Generator<string, void> {
  const podContext = specField(pod, 'securityContext');
  yield* contextViolations(podContext, 'the pod');
  for (const sysctl of ownObjects(podContext, 'sysctls')) {
    if (!SYSCTLS.includes(nameOf(sysctl))) yield `the pod must not set the sysctl ${nameOf(sysctl)}`;
  }
  for (const volume of volumes(pod)) {
    if (isSet(volume, 'hostPath')) yield `volume ${nameOf(volume)} must not be a hostPath`;
  }
  // Baseline allows this in a user namespace, since Kubernetes 1.35.
  const mayUnmask = specField(pod, 'hostUsers') === false;
  for (const container of [...initContainers(pod), ...containers(pod)]) {
    yield* containerViolations(container);
    if (!mayUnmask) yield* procMountViolations(container);
  }
}

/** Both levels forbid this, but baseline allows it in a user namespace. */
export function* procMountViolations(container: JsonObject): Generator<string, void> {
  const procMount = own(own(container, 'securityContext'), 'procMount') ?? 'Default';
  if (procMount !== 'Default') yield `container ${nameOf(container)} must not set procMount`;
}

function* containerViolations(container: JsonObject): Generator<string, void> {
  const name = `container ${nameOf(container)}`;
  const context = own(container, 'securityContext');
  yield* contextViolations(context, name);
  if (own(context, 'privileged') === true) yield `${name} must not be privileged`;
  const added = own(own(context, 'capabilities'), 'add');
  for (const capability of isArray(added) ? added : []) {
    if (!CAPABILITIES.includes(capability)) yield `${name} must not add the capability ${capability}`;
  }
  if (ownObjects(container, 'ports').some((port) => own(port, 'hostPort'))) {
    yield `${name} must not use a hostPort`;
  }
  if (handlers(container).some((handler) => ownString(handler, 'host'))) {
    yield `${name} must not set the host of a probe or hook`;
  }
}

/** Violations in fields that the security contexts of pods and containers share. */
function* contextViolations(context: JsonValue | undefined, name: string): Generator<string, void> {
  for (const profile of ['seccompProfile', 'appArmorProfile']) {
    const type = own(own(context, profile), 'type');
    if (type !== undefined && !PROFILES.includes(type)) yield `${name} must not set ${profile} to ${type}`;
  }
  const selinux = own(context, 'seLinuxOptions');
  const type = own(selinux, 'type') ?? '';
  if (!SELINUX_TYPES.includes(type) || ownString(selinux, 'user') || ownString(selinux, 'role')) {
    yield `${name} must not set these seLinuxOptions`;
  }
}

/** The HTTP and TCP handlers of the probes and hooks of a container. */
function handlers(container: JsonObject): readonly (JsonValue | undefined)[] {
  const lifecycle = own(container, 'lifecycle');
  const holders = [
    ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((probe) => own(container, probe)),
    ...['postStart', 'preStop'].map((hook) => own(lifecycle, hook)),
  ];
  return holders.flatMap((holder) => [own(holder, 'httpGet'), own(holder, 'tcpSocket')]);
}

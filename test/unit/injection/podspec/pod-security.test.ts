import { expect, test } from '@jest/globals';
import {
  ENFORCE_LABEL,
  ENFORCE_VERSION_LABEL,
  podSecurityOf,
  podSecurityViolations,
  STANDARD_CHANGES,
} from '../../../../src/injection/podspec/pod-security.ts';
import type { JsonObject } from '../../../../src/util/json.ts';

/** What the level `restricted` asks of a container. */
const CLEAN: JsonObject = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

const podOf = (context: JsonObject, spec: JsonObject = {}, container: JsonObject = {}): JsonObject => ({
  metadata: { annotations: { 'seccomp.security.alpha.kubernetes.io/pod': 'runtime/default' } },
  spec: { ...spec, containers: [{ name: 'app', securityContext: { ...CLEAN, ...context }, ...container }] },
});
const without = (field: string): JsonObject => {
  const { [field]: _, ...rest } = CLEAN;
  return { spec: { containers: [{ name: 'app', securityContext: rest }] } };
};
const withSysctl = (name: string) => podOf({}, { securityContext: { sysctls: [{ name, value: '1' }] } });
const annotated = (key: string): JsonObject => ({
  ...podOf({}),
  metadata: { annotations: { [key]: 'unconfined' } },
});
const own = { hostUsers: false };

/** The minor versions in which the level refuses the pod; each change of the standards is tried. */
function refusedIn(level: string, pod: JsonObject): readonly number[] {
  return STANDARD_CHANGES.filter((minor) => {
    const labels = { [ENFORCE_LABEL]: level, [ENFORCE_VERSION_LABEL]: `v1.${minor}` };
    return podSecurityViolations(pod, podSecurityOf(labels)).length > 0;
  });
}

const until = (end: number) => STANDARD_CHANGES.filter((minor) => minor < end);
const since = (start: number) => STANDARD_CHANGES.filter((minor) => minor >= start);

// biome-ignore format: a line for each case
test.each<[string, string, JsonObject, readonly number[]]>([
  ['nothing', 'restricted', podOf({}), []],
  ['privileged', 'baseline', podOf({ privileged: true }), since(0)],
  ['root', 'baseline', podOf({ runAsUser: 0 }), []],
  ['root', 'restricted', podOf({ runAsUser: 0 }), since(23)],
  ['root in a user namespace', 'restricted', podOf({ runAsUser: 0, runAsNonRoot: false }, own), until(35)],
  ['procMount in a user namespace', 'baseline', podOf({ procMount: 'Unmasked' }, own), until(35)],
  ['procMount in a user namespace', 'restricted', podOf({ procMount: 'Unmasked' }, own), since(0)],
  ['no runAsNonRoot', 'restricted', without('runAsNonRoot'), since(0)],
  ['no allowPrivilegeEscalation', 'restricted', without('allowPrivilegeEscalation'), since(8)],
  ['no seccompProfile', 'restricted', without('seccompProfile'), since(19)],
  ['no dropped capabilities', 'restricted', without('capabilities'), since(22)],
  ['seccompProfile', 'baseline', podOf({ seccompProfile: { type: 'Unconfined' } }), since(19)],
  ['appArmorProfile', 'baseline', podOf({ appArmorProfile: { type: 'Unconfined' } }), since(0)],
  ['seccomp annotation', 'baseline', annotated('seccomp.security.alpha.kubernetes.io/pod'), until(19)],
  ['seccomp annotation of a container', 'restricted', annotated('container.seccomp.security.alpha.kubernetes.io/app'), until(19)],
  ['seccomp annotation of no container', 'restricted', annotated('container.seccomp.security.alpha.kubernetes.io/other'), []],
  ['AppArmor annotation', 'baseline', annotated('container.apparmor.security.beta.kubernetes.io/app'), since(0)],
  ['container_t', 'baseline', podOf({ seLinuxOptions: { type: 'container_t' } }), []],
  ['container_engine_t', 'baseline', podOf({ seLinuxOptions: { type: 'container_engine_t' } }), until(31)],
  ['spc_t', 'baseline', podOf({ seLinuxOptions: { type: 'spc_t' } }), since(0)],
  ['kernel.shm_rmid_forced', 'baseline', withSysctl('kernel.shm_rmid_forced'), []],
  ['ip_local_reserved_ports', 'baseline', withSysctl('net.ipv4.ip_local_reserved_ports'), until(27)],
  ['tcp_fin_timeout', 'baseline', withSysctl('net.ipv4.tcp_fin_timeout'), until(29)],
  ['tcp_rmem', 'baseline', withSysctl('net.ipv4.tcp_rmem'), until(32)],
  ['tcp_notsent_lowat', 'baseline', withSysctl('net.ipv4.tcp_notsent_lowat'), until(37)],
  ['kernel.msgmax', 'baseline', withSysctl('kernel.msgmax'), since(0)],
  ['host of a probe', 'baseline', podOf({}, {}, { livenessProbe: { tcpSocket: { port: 80, host: 'h' } } }), since(34)],
])('pod security: %s is refused by %s in some versions', (_, level, pod, versions) => {
  expect(refusedIn(level, pod)).toEqual(versions);
});

test('the API server decides about image volumes, not the version that a namespace enforces', () => {
  const pod = podOf({}, { volumes: [{ name: 'v', image: { reference: 'i' } }] });
  const refused = (version: string, serverMinor?: number) =>
    podSecurityViolations(
      pod,
      podSecurityOf({ [ENFORCE_LABEL]: 'restricted', [ENFORCE_VERSION_LABEL]: version }, serverMinor),
    ).length > 0;
  expect([refused('v1.0', 32), refused('latest', 32)]).toEqual([true, true]);
  expect([refused('v1.0', 33), refused('latest', 33), refused('v1.0')]).toEqual([false, false, false]);
});

import { join } from 'node:path';
import { searchPath } from '../cluster/search-path.ts';
import type { ProgressStream } from '../control-plane/progress.ts';
import { ensureDebianPackages } from '../debian-packages.ts';
import { ensureGoProgram } from '../go/go-program.ts';
import { pinOf } from '../go/pins.ts';

/** Open vSwitch and OVN, unpacked from Debian's packages, and the CNI plugin ovs. */
export interface OvnPrograms {
  /** With which they run. */
  readonly env: Readonly<Record<'PATH' | 'LD_LIBRARY_PATH', string>>;
  /** The schemas of their databases, by name: `vswitch`, `ovn-nb`, `ovn-sb`. */
  readonly schemas: Readonly<Record<'vswitch' | 'ovn-nb' | 'ovn-sb', string>>;
  /** The path of the CNI plugin. */
  readonly ovsCni: string;
}

/** The programs, and the libraries that a small Debian lacks. */
const PACKAGES = [
  ...['ovn-central', 'ovn-host', 'ovn-common', 'openvswitch-switch', 'openvswitch-common'],
  ...['libunbound8', 'libxdp1', 'libbpf1', 'libnuma1'],
  ...['libcap-ng0', 'libevent-2.1-7', 'libelf1', 'libnghttp2-14'],
];
const OVS_CNI = 'github.com/k8snetworkplumbingwg/ovs-cni';
const LIBRARIES: Readonly<Record<string, string>> = {
  x64: 'x86_64-linux-gnu',
  arm64: 'aarch64-linux-gnu',
};

/** Finds them in the cache, and first makes them, in a minute, where they are not there. Rejects where it cannot. */
export async function ensureOvnPrograms(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<OvnPrograms> {
  // Nothing is installed: the packages would start their services.
  const root = await ensureDebianPackages('ovn', PACKAGES, env, progress);
  const at = (...path: readonly string[]) => join(root, 'usr', ...path);
  const plugin = { name: 'ovs-cni', package: `${OVS_CNI}/cmd/plugin`, pin: pinOf(OVS_CNI) };
  const ovsCni = await ensureGoProgram(plugin, env, progress);
  const programs = [at('bin'), at('sbin'), at('lib', 'openvswitch-switch'), searchPath()];
  return {
    env: {
      PATH: programs.join(':'),
      LD_LIBRARY_PATH: at('lib', LIBRARIES[process.arch] ?? process.arch),
    },
    schemas: {
      vswitch: at('share', 'openvswitch', 'vswitch.ovsschema'),
      'ovn-nb': at('share', 'ovn', 'ovn-nb.ovsschema'),
      'ovn-sb': at('share', 'ovn', 'ovn-sb.ovsschema'),
    },
    ovsCni,
  };
}

/** A program of the machine's that a cluster runs, and the Debian package that has it. */
export interface Requirement {
  /** What to say of it. */
  readonly name: string;
  readonly debianPackage: string;
  /** Succeeds where it is there, printing its version. */
  readonly probe: readonly [command: string, ...args: string[]];
  /** The oldest version that works, as in `1.6`; the version is the first number with a point that the probe prints. */
  readonly atLeast?: string;
}

/** Where Debian keeps the CNI plugins. */
export const CNI_PLUGINS = '/usr/lib/cni';

const IPROUTE: Requirement = { name: 'ip', debianPackage: 'iproute2', probe: ['ip', '-Version'] };
const NFTABLES: Requirement = { name: 'nft', debianPackage: 'nftables', probe: ['nft', '--version'] };
/** The programs of node agents, which our image has. */
export const AGENT_PROGRAMS = [IPROUTE, NFTABLES];

/** What a node is made of beside our own binaries. */
export const NODE_REQUIREMENTS: readonly Requirement[] = [
  // setpriv --pdeathsig, unshare --kill-child.
  {
    name: 'util-linux',
    debianPackage: 'util-linux',
    probe: ['setpriv', '--version'],
    atLeast: '2.33',
  },
  ...AGENT_PROGRAMS,
  // The first with the registry hosts' directory for all hosts that the configuration names.
  { name: 'containerd', debianPackage: 'containerd', probe: ['containerd', '--version'], atLeast: '1.6' },
  { name: 'runc', debianPackage: 'runc', probe: ['runc', '--version'], atLeast: '1.1' },
  { name: 'iptables', debianPackage: 'iptables', probe: ['iptables', '--version'], atLeast: '1.8' },
  // A plugin tells the version of CNI that it speaks.
  {
    name: 'CNI plugins',
    debianPackage: 'containernetworking-plugins',
    probe: ['env', 'CNI_COMMAND=VERSION', `${CNI_PLUGINS}/bridge`],
    atLeast: '1.0',
  },
];

export const BUSYBOX: Requirement = {
  name: 'busybox',
  debianPackage: 'busybox-static',
  probe: ['busybox', 'true'],
};

/** Builds an image from the project's Dockerfile. */
export const BUILDAH: Requirement = {
  name: 'buildah',
  debianPackage: 'buildah',
  probe: ['buildah', '--version'],
  atLeast: '1.23',
};

/** Brings Envoy, which is published as a Python package. */
export const PYTHON: Requirement = {
  name: 'python3 with venv',
  debianPackage: 'python3-venv',
  probe: ['python3', '-c', 'import ensurepip, platform; print(platform.python_version())'],
  atLeast: '3.9',
};

/** Where the library of FAKETIME is, which gives a process another time of day than its machine's. */
export const FAKETIME_LIBRARY = '/usr/lib/*/faketime/libfaketimeMT.so.1';

export const FAKETIME: Requirement = {
  name: 'libfaketime',
  debianPackage: 'libfaketime',
  probe: ['sh', '-c', `test -e ${FAKETIME_LIBRARY}`],
};

import { ensureDns } from '../cluster/dns/dns.ts';
import { ensurePause } from '../cluster/images/pause.ts';
import { ensureBinaries, ensureNodeBinaries } from '../control-plane/build.ts';
import { chosenKubernetes } from '../control-plane/kubernetes.ts';
import type { ProgressStream } from '../control-plane/progress.ts';
import { ensureGoProgram } from '../go/go-program.ts';
import { pinOf } from '../go/pins.ts';

const CONTAINERD = 'github.com/containerd/containerd/v2';
const CRI_TOOLS = 'sigs.k8s.io/cri-tools';
export const MULTUS = 'gopkg.in/k8snetworkplumbingwg/multus-cni.v4';

/** Builds kind itself, once. Resolves to its path. */
export function ensureKind(progress: ProgressStream): Promise<string> {
  const module = 'sigs.k8s.io/kind';
  return ensureGoProgram({ name: 'kind', package: module, pin: pinOf(module) }, process.env, progress);
}

/** Paths of programs, by their names. */
export type Programs = Readonly<Record<string, string>>;

/** Builds once what a node image has that Debian has not, or not in a version that kind can use. */
export async function ensureNodePrograms(progress: ProgressStream): Promise<Programs> {
  // Of one version, so none from outside.
  const env = { ...process.env, KUBEBUILDER_ASSETS: '' };
  const kubernetes = chosenKubernetes(env);
  const build = (name: string, directory: string, pin = pinOf(directory.split('/cmd/')[0] ?? '')) =>
    ensureGoProgram({ name, package: directory, pin }, env, progress);
  return {
    ...(await ensureBinaries(env, progress)),
    ...(await ensureNodeBinaries(env, progress)),
    kubeadm: await build('kubeadm', `${kubernetes.module}/cmd/kubeadm`, kubernetes),
    containerd: await build('containerd', `${CONTAINERD}/cmd/containerd`),
    ctr: await build('ctr', `${CONTAINERD}/cmd/ctr`),
    'containerd-shim-runc-v2': await build(
      'containerd-shim-runc-v2',
      `${CONTAINERD}/cmd/containerd-shim-runc-v2`,
    ),
    crictl: await build('crictl', `${CRI_TOOLS}/cmd/crictl`),
    coredns: await ensureDns(env, progress),
    pause: await ensurePause(env, progress),
  };
}

/** Directories of Multus' commands, by the names that its script of a build gives them. */
const MULTUS_PROGRAMS = {
  'multus-daemon': 'multus-daemon',
  'multus-shim': 'multus-shim',
  install_multus: 'install_multus',
  passthru: 'passthru-cni',
};

/** Builds once the programs of Multus' own image of a daemon. */
export async function ensureMultusPrograms(progress: ProgressStream): Promise<Programs> {
  const built: Record<string, string> = {};
  for (const [name, directory] of Object.entries(MULTUS_PROGRAMS)) {
    const program = { name, package: `${MULTUS}/cmd/${directory}`, pin: pinOf(MULTUS) };
    built[name] = await ensureGoProgram(program, process.env, progress);
  }
  return built;
}

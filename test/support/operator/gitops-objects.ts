import { moduleTexts } from '../../env/go/locked-module.ts';
import { pinOf } from '../../env/go/pins.ts';

/** What a tool for GitOps has in the cluster where it is installed, as far as the section of docs/gitops.md needs it. */
interface GitOpsTool {
  readonly heading: string;
  readonly namespace: string;
  readonly module: string;
  /** Below this directory of the Go module. */
  readonly directory: string;
  readonly files: readonly string[];
}

export const GITOPS_TOOLS: readonly GitOpsTool[] = [
  {
    heading: '## Argo CD',
    namespace: 'argocd',
    module: 'github.com/argoproj/argo-cd/v3',
    directory: 'manifests',
    files: ['crds/application-crd.yaml', 'base/config/argocd-cm.yaml'],
  },
  {
    heading: '## Flux',
    namespace: 'flux-system',
    module: 'github.com/fluxcd/kustomize-controller',
    directory: 'config/crd/bases',
    files: ['kustomize.toolkit.fluxcd.io_kustomizations.yaml'],
  },
];

/** Its manifests, in one text. */
export async function manifestsOf({ module, directory, files }: GitOpsTool): Promise<string> {
  const texts = await moduleTexts(pinOf(module), directory, process.env);
  return files.map((file) => texts.get(file) ?? '').join('\n---\n');
}

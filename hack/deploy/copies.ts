import { COPY_LABEL, isCopy, type ManagedConfigMap } from '../../src/drift/copy-plan.ts';
import { type Kubectl, output } from './kubectl.ts';

/** Deletes and returns the copies of Envoy's ConfigMap. From copies that users changed it removes only the label. */
export async function removeCopies(kubectl: Kubectl): Promise<readonly string[]> {
  const selector = [`--selector=${COPY_LABEL}`, '--all-namespaces', '--show-managed-fields', '--output=json'];
  const { items } = JSON.parse(await output(kubectl, ['get', 'configmaps', ...selector])) as {
    readonly items: readonly ManagedConfigMap[];
  };
  const removed: string[] = [];
  for (const configMap of items) {
    const { namespace = '', name } = configMap.metadata;
    const object = ['configmap', name, `--namespace=${namespace}`];
    if (!isCopy(configMap)) await output(kubectl, ['label', ...object, `${COPY_LABEL}-`]);
    else {
      await output(kubectl, ['delete', ...object, '--ignore-not-found']);
      removed.push(`${namespace}/${name}`);
    }
  }
  return removed;
}

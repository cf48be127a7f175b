import type { ExecConfig } from '../../../src/kube/client/kubeconfig/kubeconfig-types.ts';

/** A credential plugin that is a script of Node. */
export function execConfig(script: string, more: Partial<ExecConfig> = {}): ExecConfig {
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: ['-e', script],
    env: {},
    provideClusterInfo: false,
    interactiveMode: 'Never',
    ...more,
  };
}

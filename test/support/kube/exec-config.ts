import type { Plugin } from '../../../src/kube/client/kubeconfig/kubeconfig-fields.ts';

/** A credential plugin that is a script of Node. */
export function execConfig(script: string, more: Partial<Plugin> = {}): Plugin {
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: ['-e', script],
    env: {},
    ...more,
  };
}

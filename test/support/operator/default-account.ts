import type { ControlPlane } from '../../env/control-plane/control-plane.ts';

/** Resolves when the namespace has the account without which no pod is made there. */
export async function serviceAccount(controlPlane: ControlPlane, namespace: string): Promise<void> {
  // A control plane is ready when this one is there.
  if (controlPlane.hasControllerManager && namespace === 'default') return;
  const args = controlPlane.hasControllerManager
    ? ['wait', '--for=create', 'serviceaccount/default', '-n', namespace, '--timeout=30s']
    : ['create', 'serviceaccount', 'default', '-n', namespace];
  const { code, stderr } = await controlPlane.kubectl(args);
  if (code !== 0) throw new Error(stderr);
}

import { Component, type ComponentExitedError, type ComponentSpec } from '../control-plane/component.ts';
import type { ControlPlaneParts } from '../control-plane/control-plane.ts';
import type { Supervisor } from '../control-plane/supervisor.ts';
import type { ClusterSettings } from './cluster-settings.ts';
import { componentSpecs } from './component-specs.ts';

/** What runs of a cluster. */
interface StartedComponents extends Pick<ControlPlaneParts, 'components' | 'failure'> {
  /** To be called once the DNS server has its rights: it is ready when it has read what it answers from. */
  readonly startDns: () => Promise<unknown>;
}

/** Starts the processes of a cluster, what does not wait for another side by side, and waits until they serve. */
export async function startComponents(
  supervisor: Supervisor,
  settings: ClusterSettings,
  log: (message: string) => void,
): Promise<StartedComponents> {
  let onUnexpectedExit: (err: ComponentExitedError) => void = () => {};
  const failure = new Promise<ComponentExitedError>((resolve) => {
    onUnexpectedExit = resolve;
  });
  const specs = componentSpecs(settings);
  const start = async (spec: ComponentSpec): Promise<Component> => {
    const component = new Component(supervisor, spec, onUnexpectedExit);
    await component.start();
    log(`${component.name} is ready`);
    return component;
  };
  const startControlPlane = async () => {
    const etcd = await start(specs.etcd);
    return { etcd, apiServer: await start(specs.apiServer) };
  };
  const [{ etcd, apiServer }] = await Promise.all([
    startControlPlane(),
    start(specs.registry),
    start(specs.containerd),
  ]);
  const [controllerManager] = await Promise.all([
    start(specs.controllerManager),
    start(specs.scheduler),
    start(specs.kubelet),
    start(specs.kubeProxy),
  ]);
  const components = { etcd, apiServer, controllerManager };
  return { components, failure, startDns: () => start(specs.dns) };
}

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Binaries } from './binaries.ts';
import { findBinaries } from './build.ts';
import { Component, ComponentExitedError, type ComponentSpec } from './component.ts';
import { apiServerSpec, type ComponentSettings, controllerManagerSpec, etcdSpec } from './component-specs.ts';
import { ControlPlane, type ControlPlaneParts } from './control-plane.ts';
import { createCredentials } from './credentials.ts';
import { type AuditLevel, controlPlaneFiles, writeFiles } from './files.ts';
import { freePorts } from './free-ports.ts';
import { type Supervisor, startSupervisor } from './supervisor.ts';

export interface ControlPlaneOptions {
  /** Told what has become ready. */
  readonly log?: (message: string) => void;
  /** Makes the API server write each request to `auditLogPath`. */
  readonly auditLog?: AuditLevel;
  readonly extraApiServerArgs?: readonly string[];
  /** By default those that `findBinaries` finds. */
  readonly binaries?: Binaries;
}

const PORT_ATTEMPTS = 5;
/** There is no kubelet: this controller would take each Node for a failed one after a minute. */
const CONTROLLERS = '*,-node-lifecycle-controller';

/**
 * Starts etcd, kube-apiserver and kube-controller-manager on loopback, and waits until they serve. Rejects, leaving
 * nothing behind, where a binary is missing or a process ends: the message has the end of its log.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = options.binaries ?? (await findBinaries(process.env));
  for (let attempt = 1; ; attempt += 1) {
    const supervisor = await startSupervisor();
    try {
      return await startUnder(supervisor, binaries, options);
    } catch (err) {
      await supervisor.stop();
      if (attempt === PORT_ATTEMPTS || !isPortTaken(err)) throw err;
      options.log?.('another process took a port meanwhile: trying others');
    }
  }
}

async function startUnder(
  supervisor: Supervisor,
  binaries: Binaries,
  options: ControlPlaneOptions,
): Promise<ControlPlane> {
  const { log = () => {}, auditLog, extraApiServerArgs = [] } = options;
  const [directory, credentials, [apiServer = 0, etcd = 0]] = await Promise.all([
    supervisor.makeDirectory(join(tmpdir(), 'envoy-initializer-control-plane-')),
    createCredentials(new Date()),
    freePorts(2),
  ]);
  const ports = { apiServer, etcd };
  const files = controlPlaneFiles(directory);
  const server = `https://127.0.0.1:${ports.apiServer}`;
  await writeFiles(files, credentials, server, auditLog ?? 'None');
  const isAudited = auditLog !== undefined;
  const settings = { binaries, files, credentials, ports, server, isAudited, extraApiServerArgs };
  const { components, failure } = createComponents(supervisor, settings);
  // One after the other: each would otherwise wait for the one before with pauses longer than its start.
  for (const component of Object.values(components)) {
    await component.start();
    log(`${component.name} is ready`);
  }
  if (components.controllerManager === undefined) {
    log(
      'no kube-controller-manager: nothing is garbage-collected, no namespace ends, no Deployment gets pods',
    );
  }
  const { caPem } = credentials;
  return new ControlPlane({
    supervisor,
    components,
    failure,
    files,
    server,
    caPem,
    kubectl: binaries.kubectl,
  });
}

function createComponents(
  supervisor: Supervisor,
  settings: ComponentSettings,
): Pick<ControlPlaneParts, 'components' | 'failure'> {
  let onUnexpectedExit: (err: ComponentExitedError) => void = () => {};
  const failure = new Promise<ComponentExitedError>((resolve) => {
    onUnexpectedExit = resolve;
  });
  const create = (spec: ComponentSpec) => new Component(supervisor, spec, onUnexpectedExit);
  const controllerManager = settings.binaries['kube-controller-manager'];
  return {
    components: {
      etcd: create(etcdSpec(settings)),
      apiServer: create(apiServerSpec(settings)),
      ...(controllerManager && {
        controllerManager: create(controllerManagerSpec(settings, controllerManager, CONTROLLERS)),
      }),
    },
    failure,
  };
}

function isPortTaken(err: unknown): boolean {
  return err instanceof ComponentExitedError && err.message.includes('address already in use');
}

import type { Component, ComponentExitedError } from './component.ts';
import type { ControlPlaneFiles } from './files.ts';
import { type CommandResult, runCommand } from './run-command.ts';
import type { Supervisor } from './supervisor.ts';

/** The processes of a control plane, in the order of their start. A type, so that `Object.values` knows what it holds. */
export type Components = {
  readonly etcd: Component;
  readonly apiServer: Component;
  readonly controllerManager?: Component;
};

/** What a running control plane is made of. */
export interface ControlPlaneParts {
  readonly supervisor: Supervisor;
  readonly components: Components;
  readonly files: ControlPlaneFiles;
  readonly server: string;
  readonly caPem: string;
  readonly kubectl: string;
  readonly failure: Promise<ComponentExitedError>;
}

/** A running Kubernetes control plane: `startControlPlane` makes one. */
export class ControlPlane {
  /** The API server's base URL, on the same port for as long as this lives. */
  readonly server: string;
  readonly caPem: string;
  /** For a user of the group system:masters. */
  readonly kubeconfigPath: string;
  /** Holds the logs and all else on disk; goes with `stop()`. */
  readonly directory: string;
  /** One JSON object of audit.k8s.io/v1 a line; the file is there where an audit level was asked for. */
  readonly auditLogPath: string;
  /** Without one nothing is garbage-collected, no namespace ends, and no Deployment gets its pods. */
  readonly hasControllerManager: boolean;
  /** Resolves when a process has ended that nobody stopped. */
  readonly failure: Promise<ComponentExitedError>;
  /** For what is to run against it: that is ended first, while the API server still answers. */
  readonly supervisor: Supervisor;
  readonly #parts: ControlPlaneParts;

  constructor(parts: ControlPlaneParts) {
    this.server = parts.server;
    this.caPem = parts.caPem;
    this.kubeconfigPath = parts.files.kubeconfig;
    this.directory = parts.files.directory;
    this.auditLogPath = parts.files.auditLog;
    this.hasControllerManager = parts.components.controllerManager !== undefined;
    this.failure = parts.failure;
    this.supervisor = parts.supervisor;
    this.#parts = parts;
  }

  /** Runs kubectl as the admin, with no setting of the user's own. Resolves however it ends. */
  kubectl(args: readonly string[], { input = '' }: { readonly input?: string } = {}): Promise<CommandResult> {
    const { home } = this.#parts.files;
    const env = {
      PATH: process.env.PATH ?? '',
      HOME: home,
      KUBECACHEDIR: `${home}/cache`,
      KUBECONFIG: this.kubeconfigPath,
      // It ends before it has used much: collecting garbage is a third of its time.
      GOGC: '400',
    };
    return runCommand(this.#parts.kubectl, args, env, input);
  }

  /** By SIGTERM its clients' watches end in good order, within 2 s; by SIGKILL they break off, as in a crash. */
  stopApiServer(signal?: NodeJS.Signals): Promise<void> {
    return this.#parts.components.apiServer.stop(signal);
  }

  startApiServer(): Promise<void> {
    return this.#parts.components.apiServer.start();
  }

  /** Resolves when the API server, too, serves again, if it runs. */
  async restartEtcd(signal?: NodeJS.Signals): Promise<void> {
    const { etcd, apiServer } = this.#parts.components;
    await etcd.stop(signal);
    await etcd.start();
    if (apiServer.isRunning) await apiServer.waitUntilReady();
  }

  /** Resolves when no process and no file is left. */
  async stop(): Promise<void> {
    const { supervisor, components } = this.#parts;
    for (const component of Object.values(components)) component.expectExit();
    await supervisor.stop();
  }
}

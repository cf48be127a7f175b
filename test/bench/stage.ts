import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import type { ControlPlane } from '../env/control-plane/control-plane.ts';
import { freePorts } from '../env/control-plane/free-ports.ts';
import { chosenKubernetes } from '../env/control-plane/kubernetes.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { type ControlPlaneOptions, startControlPlane } from '../env/control-plane/start.ts';
import { eventually } from '../env/eventually.ts';
import { ensureGoProgram } from '../env/go/go-program.ts';
import { must, OPERATOR_NAMESPACE, type Operator, startOperator } from '../env/operator.ts';
import { pin, pinned, SERVER_CORE } from './pinned.ts';
import { OPTED_IN_NAMESPACE } from './reviews.ts';

/** A flag of the operator's where an election would only take its time. */
export const ALONE = '--leader-elect=false';

/** A control plane, and the operator as a process of its own on a core of its own. */
export interface Stage {
  readonly controlPlane: ControlPlane;
  readonly operator: Operator;
  /** Again, after it was restarted. */
  pinOperator(): void;
  /** For what a scenario has to write down. */
  readonly directory: string;
  stop(): Promise<void>;
}

export interface StageOptions extends ControlPlaneOptions {
  readonly args?: readonly string[];
}

export async function setStage({ args = [], ...options }: StageOptions = {}): Promise<Stage> {
  const controlPlane = await startControlPlane(options);
  try {
    const path = (file: string) => join(projectDirectory(), file);
    await must(controlPlane, [
      'apply',
      '-f',
      path('test/env/control-plane/network-attachment-definition-crd.yaml'),
    ]);
    await must(controlPlane, ['create', 'namespace', OPERATOR_NAMESPACE]);
    await must(controlPlane, ['apply', '-f', path('deploy/examples/template.yaml')]);
    await must(controlPlane, ['create', 'namespace', OPTED_IN_NAMESPACE]);
    await must(controlPlane, [
      'label',
      'namespace',
      OPTED_IN_NAMESPACE,
      'initializer.kubernetes.io/envoy=true',
    ]);
    const directory = join(controlPlane.directory, 'bench');
    await mkdir(directory);
    const log = join(directory, 'operator.log');
    const operator = await startOperator(controlPlane, {
      log,
      args: ['--log-level=error', ...args],
    });
    const pinOperator = () => pin(operator.process.pid, SERVER_CORE);
    pinOperator();
    return {
      controlPlane,
      operator,
      pinOperator,
      directory,
      stop: () => controlPlane.stop(),
    };
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}

/** A server to compare with: a bare one in Node, which does the least, or one that is written by hand in Go. */
export type Peer = 'floor-server' | 'go-webhook';

export interface RunningPeer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Starts one, with the operator's own certificate. The floor answers any review with the answer given, but for its uid; the
 * Go webhook has a sidecar of its own.
 */
export async function startPeer(stage: Stage, peer: Peer, answer: string): Promise<RunningPeer> {
  const [port = 0] = await freePorts(1);
  const file = join(stage.directory, `${peer}-${port}.json`);
  await writeFile(file, answer);
  const certificates = join(stage.controlPlane.directory, 'operator');
  const server =
    peer === 'go-webhook'
      ? [await goWebhook()]
      : [process.execPath, join(projectDirectory(), `test/bench/${peer}.ts`)];
  const files = [join(certificates, 'tls.key'), join(certificates, 'tls.crt'), file];
  // Go starts a thread for each core that it may use.
  const [command = '', ...args] = pinned(SERVER_CORE, [...server, `${port}`, ...files]);
  const started = await stage.controlPlane.supervisor.start({ name: `${peer}-${port}`, command, args });
  const url = `https://127.0.0.1:${port}`;
  await eventually(`${url} answers`, async () => (await post(url, ANY_REVIEW)).includes('response'));
  const stop = async () => {
    started.kill();
    await started.exited;
  };
  return { url, pid: started.pid, stop };
}

/** The webhook in Go, built once with the modules of the control plane. */
async function goWebhook(): Promise<string> {
  const source = join(projectDirectory(), 'test/bench/go-webhook/main.go');
  const program = { name: 'go-webhook', package: source, pin: chosenKubernetes({}) };
  return await ensureGoProgram(program, process.env, process.stderr);
}

const ANY_REVIEW =
  '{"request":{"uid":"1","object":{"metadata":{},"spec":{"containers":[],"initContainers":[],"volumes":[]}}}}';

const agent = new Agent({ connect: { rejectUnauthorized: false } });

export async function post(url: string, body: string): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', body, headers, dispatcher: agent });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return await response.text();
}

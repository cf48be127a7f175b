import { join } from 'node:path';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { type ControlPlaneOptions, startControlPlane } from '../../env/control-plane/start.ts';
import {
  listed,
  must,
  OPERATOR_NAMESPACE,
  type Operator,
  type OperatorOptions,
  startOperator,
} from '../../env/operator.ts';
import { serviceAccount } from './default-account.ts';
import { nothingRefused } from './rights.ts';

/** A control plane with the operator beside it, as `make run` has them. */
export interface OperatorFixture {
  readonly controlPlane: ControlPlane;
  readonly operator: Operator;
  /** The operator's log, a JSON object a line. */
  readonly logFile: string;
  /** kubectl; rejects with what it printed when it fails. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** The same, with the words of a line, and then what has blanks. */
  run(line: string, ...last: readonly string[]): Promise<string>;
  /** Makes a namespace, in which pods can be made. */
  namespace(name: string, labels?: object, annotations?: object): Promise<void>;
  metrics(): Promise<string>;
  /** kubectl apply of objects. */
  apply(...objects: readonly unknown[]): Promise<{ readonly stdout: string; readonly stderr: string }>;
  /** @throws where its roles or the fence of deploy/base have refused the operator anything. */
  stop(): Promise<void>;
}

/** Starts both with the demo's template; whoever starts it stops it. All is seen by the webhook, but with --policy=auto. */
export async function startOperatorFixture({
  ownCertificates = false,
  args = [],
  nodeFlags = [],
  port,
  manifests = [],
  ...options
}: ControlPlaneOptions &
  Pick<OperatorOptions, 'ownCertificates' | 'args' | 'nodeFlags' | 'port'> & {
    /** Files that are applied before the operator starts. */
    readonly manifests?: readonly string[];
  } = {}): Promise<OperatorFixture> {
  const controlPlane = await startControlPlane({ auditLog: 'Metadata', ...options });
  try {
    const path = (file: string) => join(projectDirectory(), file);
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OPERATOR_NAMESPACE } };
    const crd = 'test/env/control-plane/network-attachment-definition-crd.yaml';
    // In one go: each kubectl first asks the API server what it serves.
    const files = ['-', path(crd), path('deploy/examples/template.yaml')];
    await must(controlPlane, ['apply', ...files.flatMap((file) => ['-f', file])], JSON.stringify(namespace));
    for (const file of manifests) await must(controlPlane, ['apply', '-f', path(file)]);
    const logFile = join(controlPlane.directory, 'operator.log');
    const [operator] = await Promise.all([
      startOperator(controlPlane, {
        log: logFile,
        ownCertificates,
        args: ['--policy=off', ...args],
        nodeFlags,
        ...(port !== undefined && { port }),
      }),
      serviceAccount(controlPlane, OPERATOR_NAMESPACE),
    ]);
    const kubectl = async (...args: readonly string[]) => (await must(controlPlane, args)).stdout;
    const apply = (...objects: readonly unknown[]) =>
      must(controlPlane, ['apply', '-f', '-'], listed(objects));
    return {
      ...{ controlPlane, operator, logFile, kubectl, apply },
      run: (line, ...last) => kubectl(...line.split(' '), ...last),
      metrics: async () => (await fetch(`${operator.metricsUrl}/metrics`)).text(),
      async namespace(name, labels = {}, annotations = {}) {
        await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels, annotations } });
        await serviceAccount(controlPlane, name);
      },
      async stop() {
        try {
          await nothingRefused(controlPlane);
        } finally {
          await controlPlane.stop();
        }
      },
    };
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}

/** Starts another replica of the operator. Its certificate is that of the first, which the caBundles trust. */
export async function startSecondReplica(
  { controlPlane }: OperatorFixture,
  ...args: readonly string[]
): Promise<Operator> {
  const file = (name: string) => join(controlPlane.directory, name);
  const certificate = [
    `--tls-cert-file=${file('operator/tls.crt')}`,
    `--tls-key-file=${file('operator/tls.key')}`,
  ];
  return await startOperator(controlPlane, {
    name: 'second',
    isInstalled: true,
    log: file('second.log'),
    args: [...args, ...certificate],
  });
}

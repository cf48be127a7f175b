import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Credentials } from './credentials.ts';
import { renderKubeconfig } from './kubeconfig.ts';

/** How much of each request the API server's audit log holds (audit.k8s.io/v1). */
export type AuditLevel = 'None' | 'Metadata' | 'Request' | 'RequestResponse';

/** Paths of what a control plane keeps on disk, all below one directory. */
export interface ControlPlaneFiles {
  readonly directory: string;
  /** kubectl's HOME, so that it meets neither settings nor caches of the user. */
  readonly home: string;
  readonly logs: string;
  readonly etcdData: string;
  readonly ca: string;
  readonly servingCert: string;
  readonly servingKey: string;
  readonly serviceAccountKey: string;
  readonly kubeconfig: string;
  readonly controllerManagerKubeconfig: string;
  readonly auditPolicy: string;
  readonly auditLog: string;
}

/** Lays out the files of a control plane in its directory. */
export function controlPlaneFiles(directory: string): ControlPlaneFiles {
  const at = (...names: string[]) => join(directory, ...names);
  return {
    directory,
    home: at('home'),
    logs: at('logs'),
    etcdData: at('etcd'),
    ca: at('pki', 'ca.crt'),
    servingCert: at('pki', 'apiserver.crt'),
    servingKey: at('pki', 'apiserver.key'),
    serviceAccountKey: at('pki', 'sa.key'),
    kubeconfig: at('kubeconfig'),
    controllerManagerKubeconfig: at('controller-manager.kubeconfig'),
    auditPolicy: at('audit-policy.json'),
    auditLog: at('logs', 'audit.jsonl'),
  };
}

/** Writes what the processes read at start, each file for its owner alone. */
export async function writeFiles(
  files: ControlPlaneFiles,
  credentials: Credentials,
  server: string,
  auditLevel: AuditLevel,
): Promise<void> {
  const { caPem, serving, admin, controllerManager, serviceAccountKeyPem } = credentials;
  const kubeconfig = (name: string, user: Credentials['admin']) =>
    renderKubeconfig({ name, server, caPem, user });
  const contents: readonly (readonly [string, string])[] = [
    [files.ca, caPem],
    [files.servingCert, serving.certPem],
    [files.servingKey, serving.keyPem],
    [files.serviceAccountKey, serviceAccountKeyPem],
    [files.kubeconfig, kubeconfig('envoy-initializer', admin)],
    [files.controllerManagerKubeconfig, kubeconfig('kube-controller-manager', controllerManager)],
    [files.auditPolicy, auditPolicy(auditLevel)],
  ];
  for (const directory of [files.home, files.logs, dirname(files.ca)]) await mkdir(directory);
  for (const [path, content] of contents) await writeFile(path, content, { mode: 0o600 });
}

function auditPolicy(level: AuditLevel): string {
  return JSON.stringify({
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    // One entry a request, written once its outcome is known.
    omitStages: ['RequestReceived'],
    rules: [{ level }],
  });
}

import { join } from 'node:path';
import type { Binaries } from './binaries.ts';
import type { ComponentSpec } from './component.ts';
import type { Credentials } from './credentials.ts';
import type { ControlPlaneFiles } from './files.ts';
import { isOk } from './is-ok.ts';

/** The ports of 127.0.0.1 that a control plane listens on. */
export interface Ports {
  readonly apiServer: number;
  readonly etcd: number;
}

/** All that the components are told. */
export interface ComponentSettings {
  readonly binaries: Binaries;
  readonly files: ControlPlaneFiles;
  readonly credentials: Credentials;
  readonly ports: Ports;
  /** The API server's base URL. */
  readonly server: string;
  readonly isAudited: boolean;
  readonly extraApiServerArgs: readonly string[];
}

/** etcd, which has no peers. */
export function etcdSpec(settings: ComponentSettings): ComponentSpec {
  const { binaries, files, ports } = settings;
  const url = `http://127.0.0.1:${ports.etcd}`;
  const args = [
    `--data-dir=${files.etcdData}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    '--listen-peer-urls=http://127.0.0.1:0',
    // The data goes with the process: it need not survive a power failure.
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
  return {
    name: 'etcd',
    command: binaries.etcd,
    args,
    isReady: () => isOk(`${url}/health`),
    ...common('etcd', files),
  };
}

/** kube-apiserver with the defaults of its version, RBAC, and on loopback only. */
export function apiServerSpec(settings: ComponentSettings): ComponentSpec {
  const { binaries, files, ports, isAudited } = settings;
  const args = [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.apiServer}`,
    // Otherwise it asks for a default route, and fails on a machine without a network.
    '--advertise-address=127.0.0.1',
    // An EndpointSlice must not hold a loopback address: it would fail to write its own, again and again.
    '--endpoint-reconciler-type=none',
    // Apart from what the demo and the tests give to Networks.
    '--service-cluster-ip-range=172.31.255.0/24',
    `--tls-cert-file=${files.servingCert}`,
    `--tls-private-key-file=${files.servingKey}`,
    `--client-ca-file=${files.ca}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    '--authorization-mode=RBAC',
    '--allow-privileged=true',
    // On in OpenShift: who sets blockOwnerDeletion must be allowed to update the owner's finalizers.
    '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
    // Without it SIGTERM waits, up to a minute, until clients end their watches.
    '--shutdown-watch-termination-grace-period=1s',
    // In megabytes: it would begin a new log after 100, and tests count what is in one.
    ...(isAudited
      ? [
          `--audit-policy-file=${files.auditPolicy}`,
          `--audit-log-path=${files.auditLog}`,
          '--audit-log-maxsize=10000',
        ]
      : []),
    // It asks for the service account `default`, which the controller manager would make.
    ...(binaries['kube-controller-manager'] ? [] : ['--disable-admission-plugins=ServiceAccount']),
    ...settings.extraApiServerArgs,
  ];
  return {
    name: 'kube-apiserver',
    command: binaries['kube-apiserver'],
    args,
    isReady: () => isOk(`${settings.server}/readyz`, adminTls(settings)),
    ...common('kube-apiserver', files),
  };
}

/** kube-controller-manager, with all controllers that are on by default. Ready when pods can be created in `default`. */
export function controllerManagerSpec(
  settings: ComponentSettings,
  command: string,
  controllers = '*',
): ComponentSpec {
  const { files, server } = settings;
  const args = [
    `--controllers=${controllers}`,
    `--kubeconfig=${files.controllerManagerKubeconfig}`,
    '--use-service-account-credentials',
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--root-ca-file=${files.ca}`,
    '--leader-elect=false',
    '--secure-port=0',
    // At the default of 20 a second, making a service account for each controller takes 5 s.
    '--kube-api-qps=1000',
    '--kube-api-burst=1000',
  ];
  const serviceAccount = `${server}/api/v1/namespaces/default/serviceaccounts/default`;
  return {
    name: 'kube-controller-manager',
    command,
    args,
    isReady: () => isOk(serviceAccount, adminTls(settings)),
    ...common('kube-controller-manager', files),
  };
}

function common(name: string, files: ControlPlaneFiles): Pick<ComponentSpec, 'env' | 'logFile'> {
  return { env: { HOME: files.home, TMPDIR: files.directory }, logFile: join(files.logs, `${name}.log`) };
}

function adminTls({ credentials }: ComponentSettings) {
  return { ca: credentials.caPem, cert: credentials.admin.certPem, key: credentials.admin.keyPem };
}

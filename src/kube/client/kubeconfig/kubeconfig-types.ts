/** How a credential plugin is run (client-go's clientcmd/api/v1 ExecConfig). */
export interface ExecConfig {
  readonly apiVersion: string;
  /** A name to look up in PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint?: string | undefined;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: 'Never' | 'IfAvailable' | 'Always';
}

/** A cluster of a kubeconfig: client-node's `Cluster` and the fields that it lacks. */
export interface KubeCluster {
  readonly name: string;
  readonly server: string;
  readonly caData?: string | undefined;
  readonly caFile?: string | undefined;
  readonly tlsServerName?: string | undefined;
  readonly skipTLSVerify: boolean;
  /** From the kubeconfig or the environment. */
  readonly proxyUrl?: string | undefined;
  readonly disableCompression?: boolean | undefined;
  /** Passed on to a credential plugin, which alone knows its format. */
  readonly execExtension?: unknown;
}

/** A user of a kubeconfig: client-node's `User` and the fields that it lacks. Paths are absolute. */
export interface KubeUser {
  readonly name: string;
  readonly certData?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyData?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly token?: string | undefined;
  /** Takes precedence over `token`. */
  readonly tokenFile?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly exec?: ExecConfig | undefined;
  readonly authProvider?:
    | { readonly name: string; readonly config: Readonly<Record<string, string>> }
    | undefined;
  readonly impersonateUser?: string | undefined;
  readonly impersonateUid?: string | undefined;
  readonly impersonateGroups?: readonly string[] | undefined;
  readonly impersonateExtra?: Readonly<Record<string, readonly string[]>> | undefined;
}

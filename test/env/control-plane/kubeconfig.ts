import { dump } from 'js-yaml';

/** How to reach an API server, and as whom. */
export interface KubeconfigRequest {
  /** Names the cluster, the user and the context. */
  readonly name: string;
  readonly server: string;
  readonly caPem: string;
  readonly user: { readonly certPem: string; readonly keyPem: string } | { readonly token: string };
}

/** Renders a kubeconfig that needs no other file. */
export function renderKubeconfig({ name, server, caPem, user }: KubeconfigRequest): string {
  return dump({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': base64(caPem) } }],
    users: [
      {
        name,
        user:
          'token' in user
            ? { token: user.token }
            : {
                'client-certificate-data': base64(user.certPem),
                'client-key-data': base64(user.keyPem),
              },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
}

function base64(pem: string): string {
  return Buffer.from(pem).toString('base64');
}

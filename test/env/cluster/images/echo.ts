import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAuthority, issueCertificate } from '../../../../src/certificates/x509/authority.ts';
import { DEFAULT_PATH } from './default-path.ts';
import { type CachedImage, imageKey } from './image-cache.ts';
import { writeOciLayout } from './oci-layout.ts';
import { addBusybox, copyProgram } from './rootfs.ts';

/** The image that the mesh tests of the Gateway API name. */
export const ECHO_IMAGE = 'registry.k8s.io/gateway-api/conformance/echo-advanced:v0.1.0';

/**
 * The client ends a batch of 500 requests after 5 s, and no flag of the suite changes that. A busy machine takes
 * longer, so the limit is raised here.
 */
const CLIENT = '#!/bin/sh\nexec /usr/local/bin/echo-client --timeout 60s "$@"\n';
const DAY_MS = 86_400_000;

/** Istio's echo app, as the image that the mesh tests of the Gateway API name. */
export async function echoImage(programs: {
  readonly client: string;
  readonly server: string;
}): Promise<CachedImage> {
  const contents = await Promise.all([programs.client, programs.server].map((path) => readFile(path)));
  return {
    name: 'echo',
    key: await imageKey(...contents),
    make: async (layout, scratch) => {
      const rootfs = join(scratch, 'rootfs');
      await addBusybox(rootfs);
      await copyProgram(rootfs, programs.server, '/usr/local/bin/server');
      await copyProgram(rootfs, programs.client, '/usr/local/bin/echo-client');
      await writeFile(join(rootfs, 'usr/local/bin/client'), CLIENT);
      await chmod(join(rootfs, 'usr/local/bin/client'), 0o755);
      const { certPem, keyPem } = await certificate();
      await writeFile(join(rootfs, 'cert.crt'), certPem);
      await writeFile(join(rootfs, 'cert.key'), keyPem);
      await writeOciLayout(layout, rootfs, {
        Entrypoint: ['/usr/local/bin/server'],
        Env: [DEFAULT_PATH],
        User: '1338',
      });
    },
  };
}

/** The server wants one for its HTTPS port. No test looks at whose it is. */
async function certificate(): Promise<{ readonly certPem: string; readonly keyPem: string }> {
  const validity = { notBefore: new Date(0), notAfter: new Date(Date.now() + 3650 * DAY_MS) };
  const authority = await createAuthority({ commonName: 'echo', ...validity });
  return issueCertificate(authority, {
    commonName: 'echo',
    dnsNames: ['echo'],
    usage: 'server',
    ...validity,
  });
}

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { linkOf, linksOf } from './image-links.ts';

/** What is answered to a GET: a file, or what to say of its absence. */
export type Answer =
  | { readonly status: 200; readonly contentType: string; readonly digest: string; readonly file: string }
  | { readonly status: 200 | 404; readonly body: string };

const PATH = /^\/v2\/(?<repository>[a-z0-9._/-]+)\/(?<kind>manifests|blobs)\/(?<reference>[\w.:-]+)$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/**
 * Answers the pulling half of the OCI distribution specification (v1.1) from OCI layouts. A client that asks for another
 * host's image names that host in the query `ns`, as containerd does.
 */
export async function answer(images: string, url: URL): Promise<Answer> {
  if (url.pathname === '/v2/') return { status: 200, body: '{}' };
  const { repository, kind, reference } = PATH.exec(url.pathname)?.groups ?? {};
  if (repository === undefined || reference === undefined) return notFound('UNSUPPORTED', url.pathname);
  const name = { host: url.searchParams.get('ns') ?? url.host, repository };
  if (kind === 'manifests' && !DIGEST.test(reference)) {
    const layout = linkOf(images, { ...name, tag: reference });
    const digest = await readIndex(layout);
    if (digest === undefined) return notFound('MANIFEST_UNKNOWN', `${name.host}/${repository}:${reference}`);
    return manifest(digest, blobFile(layout, digest));
  }
  if (!DIGEST.test(reference)) return notFound('DIGEST_INVALID', reference);
  for (const layout of await linksOf(images, name)) {
    const file = blobFile(layout, reference);
    if (!(await isFile(file))) continue;
    if (kind === 'manifests') return manifest(reference, file);
    return { status: 200, contentType: 'application/octet-stream', digest: reference, file };
  }
  return notFound('BLOB_UNKNOWN', reference);
}

async function manifest(digest: string, file: string): Promise<Answer> {
  const { mediaType } = JSON.parse(await readFile(file, 'utf8')) as { readonly mediaType?: string };
  const contentType = mediaType ?? 'application/vnd.oci.image.manifest.v1+json';
  return { status: 200, contentType, digest, file };
}

/** The digest of a layout's one image; undefined where there is no layout. */
async function readIndex(layout: string): Promise<string | undefined> {
  if (!(await isFile(join(layout, 'index.json')))) return undefined;
  const index = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')) as {
    readonly manifests: readonly { readonly digest: string }[];
  };
  return index.manifests[0]?.digest;
}

function blobFile(layout: string, digest: string): string {
  return join(layout, 'blobs', ...digest.split(':'));
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (status) => status.isFile(),
    () => false,
  );
}

function notFound(code: string, message: string): Answer {
  return { status: 404, body: JSON.stringify({ errors: [{ code, message: `not found: ${message}` }] }) };
}

import { readdir, readlink, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { formatReference, parseReference, type Reference } from './reference.ts';

/** Gives an image a name in a registry: a link to its OCI layout. Resolves to whether another image had that name. */
export async function linkImage(images: string, name: string, layout: string): Promise<boolean> {
  const link = join(images, fileName(parseReference(name)));
  const before = await readlink(link).catch(() => layout);
  await symlink(layout, `${link}.new`);
  await rename(`${link}.new`, link);
  return before !== layout;
}

/** The directory of the image of this name, if there is one. */
export function linkOf(images: string, reference: Reference): string {
  return join(images, fileName(reference));
}

/** The directories of all images of a repository, whatever their tags. */
export async function linksOf(
  images: string,
  { host, repository }: Omit<Reference, 'tag'>,
): Promise<string[]> {
  const prefix = fileName({ host, repository, tag: '' });
  return (await readdir(images)).filter((name) => name.startsWith(prefix)).map((name) => join(images, name));
}

function fileName(reference: Reference): string {
  return encodeURIComponent(formatReference(reference));
}

import { runCommand } from '../control-plane/run-command.ts';
import { CONTAINERD_SOCKET } from './container-config.ts';
import type { Machine } from './machine.ts';
import { linkImage } from './registry/image-links.ts';
import { formatReference, parseReference } from './registry/reference.ts';
import { searchPath } from './search-path.ts';

/**
 * Gives a running node an image, an OCI layout, under this name. What the node has pulled by that name before is
 * forgotten, so that the next pod gets the new one; containers that run keep theirs.
 */
export async function replaceImage(
  machine: Pick<Machine, 'inside'>,
  images: string,
  name: string,
  layout: string,
): Promise<void> {
  const isReplaced = await linkImage(images, name, layout);
  if (!isReplaced) return;
  const reference = formatReference(parseReference(name));
  const { command, args } = machine.inside({
    command: 'ctr',
    args: ['--address', CONTAINERD_SOCKET, '--namespace', 'k8s.io', 'images', 'rm', reference],
  });
  const { code, stderr } = await runCommand(command, args, { PATH: searchPath() }, '');
  if (code !== 0) throw new Error(`${reference} could not be removed from the node: ${stderr.trim()}`);
}

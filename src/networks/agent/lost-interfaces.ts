import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import { MAX_REPORT, type NodeReport } from '../nodes/node-report.ts';
import { PLUGGED } from './cni-plugins.ts';
import type { AgentNetwork } from './desired.ts';
import { namesIn, unlessMissing } from './files.ts';

/** What the IPAM plugin has noted of an interface. */
interface Note {
  readonly pod: ObjectKey;
  readonly uid: string;
  /** The ports of the bridge of which one is the interface's other end. */
  readonly ports: readonly string[];
}

/**
 * The pods that had an interface on the bridge and have lost it, with their UIDs: somebody has removed it, or unplugged
 * its other end. If it cannot be told which of several pods it is, all that it may be. Empty without the bridge.
 * @param root where the node's directories are mounted
 * @param devices the directory of the network's devices, in sysfs
 */
export async function lostInterfaces(
  root: string,
  bridge: string,
  devices = '/sys/class/net',
): Promise<Readonly<Record<ObjectKey, string>>> {
  const directory = join(root, PLUGGED, bridge);
  const before = await namesIn(directory);
  const ports = await namesIn(join(devices, bridge, 'brif'));
  if (before.length === 0 || !(await namesIn(devices)).includes(bridge)) return {};
  // A note is written after its port is there, and removed before it goes.
  const notes: Note[] = [];
  for (const name of before) {
    const text = await readlink(join(directory, name)).catch(unlessMissing);
    const [pod = '', uid = '', ...candidates] = (text ?? '').trim().split(' ');
    if (uid !== '') notes.push({ pod, uid, ports: candidates });
  }
  if (notes.length <= ports.filter((port) => !port.startsWith('nx-')).length) return {};
  const isGone = (port: string) => !ports.includes(port);
  const lost = notes.filter((note) => note.ports.every(isGone));
  const found = lost.length > 0 ? lost : notes.filter((note) => note.ports.some(isGone));
  return Object.fromEntries(found.map(({ pod, uid }) => [pod, uid]));
}

/** By Network of this node, the pods on it that have lost their interface. They may fill half of a report: pods can drop interfaces. */
export async function lostOn(
  here: readonly Pick<AgentNetwork, 'metadata' | 'bridge'>[],
  root: string,
  devices?: string,
): Promise<NonNullable<NodeReport['lost']>> {
  const found: Record<ObjectKey, Readonly<Record<ObjectKey, string>>> = {};
  let room = MAX_REPORT / 2;
  for (const network of here) {
    const key = keyOf(network);
    for (const [pod, uid] of Object.entries(await lostInterfaces(root, network.bridge, devices))) {
      room -= key.length + pod.length + uid.length;
      if (room < 0) return found;
      found[key] = { ...found[key], [pod]: uid };
    }
  }
  return found;
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../control-plane/project-directory.ts';
import { moduleFiles } from '../go/locked-module.ts';
import { pinOf } from '../go/pins.ts';

/** What of a node image is in kind's own sources. */
export interface KindFiles {
  /** The files of its base image. */
  readonly base: string;
  /** Ours, beside them. */
  readonly scripts: string;
  /** The manifest of its network, and the image that it names. */
  readonly network: string;
  readonly kindnetd: string;
  /** The image of a pod's sandbox. */
  readonly sandbox: string;
}

/** Where Go keeps kind's module. */
export function kindModule(): Promise<string> {
  return moduleFiles(pinOf('sigs.k8s.io/kind'), 'sigs.k8s.io/kind', process.env);
}

export async function kindFiles(module: string): Promise<KindFiles> {
  const base = join(module, 'images/base/files');
  const source = await readFile(join(module, 'pkg/build/nodeimage/const_cni.go'), 'utf8');
  const kindnetd = found(source, /^const kindnetdImage = "(.*)"$/m);
  const manifest = found(source, /^const defaultCNIManifest = `([\s\S]*)`\n/m);
  const config = await readFile(join(base, 'etc/containerd/config.toml'), 'utf8');
  return {
    base,
    scripts: join(projectDirectory(), 'test/env/kind/node'),
    network: manifest.replace('` + kindnetdImage + `', kindnetd),
    kindnetd,
    sandbox: found(config, /sandbox_image = "(.*)"/),
  };
}

function found(text: string, pattern: RegExp): string {
  const [, part] = pattern.exec(text) ?? [];
  if (part === undefined) throw new Error(`kind's sources have no ${pattern}: another version?`);
  return part;
}

import { readdirSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

const GOLDEN = join(projectDirectory(), 'test/golden');
const update = process.env.UPDATE_GOLDEN === '1';

/** The template of the cases of manifests without one of their own. */
export const GOLDEN_TEMPLATE = `\
containers:
  - name: envoy
    image: envoyproxy/envoy:v1.40.0
    ports:
      - containerPort: 15001
    volumeMounts:
      - {name: envoy-conf, mountPath: /etc/envoy}
volumes:
  - name: envoy-conf
    configMap: {name: envoy}
`;

/** The names of a family's cases: the folders of test/golden/FAMILY, in order. */
export function goldenCases(family: string): readonly string[] {
  return readdirSync(join(GOLDEN, family)).sort();
}

/** One case: the files of its folder. Call {@link done} last. */
export class GoldenCase {
  readonly #directory: string;
  readonly #used = new Set<string>();

  constructor(family: string, name: string) {
    this.#directory = join(GOLDEN, family, name);
  }

  /** The text of a file; empty if there is none. */
  async read(file: string): Promise<string> {
    this.#used.add(file);
    return readFile(join(this.#directory, file), 'utf8').catch(() => '');
  }

  /** Compares the text with the file. With UPDATE_GOLDEN=1, writes the file instead. */
  async expect(file: string, text: string): Promise<void> {
    if (update) await writeFile(join(this.#directory, file), text);
    expect(text).toBe(await this.read(file));
  }

  /** Fails if the folder has a file that the test did not use: such a file proves nothing. */
  async done(): Promise<void> {
    const files = await readdir(this.#directory);
    expect(files.filter((file) => !this.#used.has(file))).toEqual([]);
  }
}

import { readdir } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { getState, resetState, type State } from 'jest-circus';

/** One test of a suite. */
export interface Test {
  /** The names of its describe blocks and its own. */
  readonly name: string;
  /** Throws, or rejects, where it fails. */
  readonly run: () => unknown;
}

type Block = State['rootDescribeBlock'];

const GLOBALS = new URL('./globals.ts', import.meta.url).href;

/**
 * Jest suites compiled by tsc, in this process: described by jest-circus as under jest, and run as plain functions. They
 * have no hooks and no state of their own. All modules of the build can be loaded anew.
 */
export class Suites {
  readonly #build: string;
  readonly #directories: readonly string[];
  #generation = 0;

  /** All absolute: what is loaded anew, and the folders in it whose suites run, with what is below them. */
  constructor(build: string, directories: readonly string[]) {
    this.#build = pathToFileURL(build).href;
    this.#directories = directories;
    registerHooks({
      resolve: (specifier, context, next) => {
        if (specifier === '@jest/globals') return { url: GLOBALS, shortCircuit: true };
        const resolved = next(specifier, context);
        const isOurs = resolved.url.startsWith(this.#build);
        return isOurs ? { ...resolved, url: `${resolved.url}?generation=${this.#generation}` } : resolved;
      },
    });
  }

  /** Rejects with what a module threw while it was loaded. */
  async load(): Promise<readonly Test[]> {
    this.#generation += 1;
    resetState();
    for (const directory of this.#directories) {
      for (const file of (await readdir(directory, { recursive: true })).sort()) {
        if (!file.endsWith('.test.js')) continue;
        await import(pathToFileURL(join(directory, file)).href);
      }
    }
    return [...testsOf(getState().rootDescribeBlock, [])];
  }
}

function* testsOf(block: Block, names: readonly string[]): Generator<Test> {
  for (const child of block.children) {
    const path = [...names, child.name];
    if (child.type === 'describeBlock') yield* testsOf(child, path);
    else yield { name: path.join(' '), run: child.fn as Test['run'] };
  }
}

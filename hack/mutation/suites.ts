import { readdir } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { getState, resetState, type State } from 'jest-circus';

/** One test of a suite. */
export interface Test {
  /** The names of its describe blocks and its own name. */
  readonly name: string;
  /** Throws or rejects if it fails. */
  readonly run: () => unknown;
}

type Block = State['rootDescribeBlock'];

const GLOBALS = new URL('./globals.ts', import.meta.url).href;

/**
 * Runs compiled jest suites in this process. jest-circus collects the tests, which then run as plain functions. The
 * suites have no hooks and no state. All modules of the build can be reloaded.
 */
export class Suites {
  readonly #build: string;
  readonly #directories: readonly string[];
  #generation = 0;

  /** Absolute paths: the modules to reload, and the folders in it with the suites to run. */
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

  /** Loads all suites. Rejects with the error of a module that fails to load. */
  async load(): Promise<readonly Test[]> {
    this.#generation += 1;
    resetState();
    for (const directory of this.#directories) {
      for (const file of (await readdir(directory, { recursive: true })).sort()) {
        // The webhook is not mutated, and its suites have hooks.
        if (!file.endsWith('.test.js') || file.startsWith('webhook/')) continue;
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

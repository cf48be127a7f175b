import { join } from 'node:path';
import type { InstrumenterContext } from '@stryker-mutator/api/core';
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin';
import {
  type DryRunResult,
  DryRunStatus,
  determineHitLimitReached,
  type MutantRunOptions,
  type MutantRunResult,
  MutantRunStatus,
  type TestResult,
  type TestRunner,
  TestStatus,
  toMutantRunResult,
} from '@stryker-mutator/api/test-runner';
import { Suites, type Test } from './suites.ts';

/** The instrumented code reads this object. */
const stryker: InstrumenterContext = {};
Object.assign(globalThis, { __stryker__: stryker });

/** What `make unit` measures the coverage of the pure modules by. */
const SUITES = [
  'unit/util',
  'unit/injection',
  'unit/addons/routes/compile',
  'unit/addons/manifests',
  'project/golden',
  'properties/injection',
  'properties/addons/routes/compile',
];

/**
 * Runs the suites of the pure modules in Stryker's own process. Jest creates a new environment for each run, which
 * takes a hundred times as long for each of some thousand mutants.
 */
class CircusRunner implements TestRunner {
  readonly #suites = new Suites(
    join(process.cwd(), 'build'),
    SUITES.map((folder) => join(process.cwd(), 'build/test', folder)),
  );
  #tests: readonly Test[] | undefined;

  capabilities() {
    return { reloadEnvironment: true };
  }

  async dryRun(): Promise<DryRunResult> {
    const mutantCoverage = { static: {}, perTest: {} };
    stryker.mutantCoverage = mutantCoverage;
    const tests: TestResult[] = [];
    this.#tests = await this.#suites.load();
    for (const test of this.#tests) tests.push(await result(test));
    return { status: DryRunStatus.Complete, tests, mutantCoverage };
  }

  async mutantRun(options: MutantRunOptions): Promise<MutantRunResult> {
    const { activeMutant, mutantActivation, reloadEnvironment, hitLimit, testFilter } = options;
    Object.assign(stryker, { hitCount: hitLimit && 0, hitLimit });
    const isStatic = mutantActivation === 'static';
    if (isStatic) stryker.activeMutant = activeMutant.id;
    try {
      if (reloadEnvironment) this.#tests = undefined;
      this.#tests ??= await this.#suites.load();
      stryker.activeMutant = activeMutant.id;
      const tests = await untilFailure(this.#tests.filter(({ name }) => testFilter?.includes(name) ?? true));
      const endless = determineHitLimitReached(stryker.hitCount, hitLimit);
      return toMutantRunResult(endless ?? { status: DryRunStatus.Complete, tests });
    } catch (error) {
      // A mutant that does not load is killed, as in jest.
      return {
        status: MutantRunStatus.Killed,
        killedBy: [],
        failureMessage: String(error),
        nrOfTests: 0,
      };
    } finally {
      // Modules that were loaded with a mutant keep its traces.
      if (isStatic) this.#tests = undefined;
      delete stryker.activeMutant;
    }
  }
}

async function untilFailure(tests: readonly Test[]): Promise<TestResult[]> {
  const results: TestResult[] = [];
  for (const test of tests) {
    const last = await result(test);
    results.push(last);
    if (last.status === TestStatus.Failed) break;
  }
  return results;
}

async function result({ name, run }: Test): Promise<TestResult> {
  stryker.currentTestId = name;
  const start = performance.now();
  const done = () => ({ id: name, name, timeSpentMs: performance.now() - start });
  try {
    await run();
    return { ...done(), status: TestStatus.Success };
  } catch (error) {
    return { ...done(), status: TestStatus.Failed, failureMessage: String(error) };
  } finally {
    delete stryker.currentTestId;
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'circus', CircusRunner)];

import { describe } from '@jest/globals';
import { findEnvironment, type PythonEnvironment } from '../../hack/neutron/python-environment.ts';

const found = await findEnvironment(process.env).then(
  (environment) => environment ?? 'it is not installed: run `make neutron`',
  (error: unknown) => String(error),
);

/** `describe` where a real Neutron can run; elsewhere its tests are skipped, and say why. */
export function describeWithNeutron(name: string, tests: (environment: PythonEnvironment) => void): void {
  if (typeof found === 'string') {
    describe.skip(`${name} (skipped: no Neutron, ${found})`, () => tests(nowhere));
  } else describe(name, () => tests(found));
}

/** For the names of tests that are skipped. */
const nowhere = { python: '', apiPaste: '', neutronDatabase: '', keystoneDatabase: '' };

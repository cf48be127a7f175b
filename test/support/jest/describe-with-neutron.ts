import { findEnvironment, type PythonEnvironment } from '../../env/neutron/python-environment.ts';
import { describeUnless } from './describe-unless.ts';

/** Where a real Neutron can run from, or why it cannot. */
export const neutronEnvironment = await findEnvironment(process.env).then(
  (environment) => environment ?? 'it is not installed: run `make neutron`',
  (error: unknown) => String(error),
);

/** `describe` where a real Neutron can run; elsewhere its tests are skipped, and say why. */
export function describeWithNeutron(name: string, tests: (environment: PythonEnvironment) => void): void {
  if (typeof neutronEnvironment === 'string') {
    describeUnless(`no Neutron, ${neutronEnvironment}`, name, () => tests(nowhere));
  } else describeUnless(undefined, name, () => tests(neutronEnvironment));
}

/** For the names of tests that are skipped. */
const nowhere = { python: '', apiPaste: '', neutronDatabase: '', keystoneDatabase: '' };

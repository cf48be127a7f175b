import { ensureEnvoy } from '../../env/envoy-binary.ts';
import { describeUnless } from './describe-unless.ts';

const found = await ensureEnvoy(process.env, process.stderr).catch((err: Error) => err);

/** `describe` where Envoy's binary can be had; elsewhere its tests are skipped, and say why. */
export function describeWithEnvoy(name: string, tests: (envoy: string) => void): void {
  if (typeof found === 'string') describeUnless(undefined, name, () => tests(found));
  else describeUnless(`no Envoy: ${found.message.split('\n')[0]}`, name, () => tests('envoy'));
}

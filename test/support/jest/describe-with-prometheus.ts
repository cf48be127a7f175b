import { ensurePrometheus, type Prometheus } from '../../env/prometheus.ts';
import { describeUnless } from './describe-unless.ts';

const found = await ensurePrometheus(process.env, process.stderr).catch((err: unknown) =>
  err instanceof Error ? err.message : String(err),
);

/** `describe` where a real Prometheus can be had (Debian); elsewhere its tests are skipped, and say why. */
export function describeWithPrometheus(name: string, tests: (programs: Prometheus) => void): void {
  if (typeof found !== 'string') describeUnless(undefined, name, () => tests(found));
  else
    describeUnless(`no Prometheus: ${found.split('\n')[0]}`, name, () =>
      tests({ prometheus: '', promtool: '' }),
    );
}

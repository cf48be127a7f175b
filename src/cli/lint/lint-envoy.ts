import {
  configurationFaults,
  holdsWeights,
  isBootstrapKey,
} from '../../injection/envoy/configuration-faults.ts';
import { readConfigMapTexts } from '../../injection/manifests/template-file.ts';
import { UsageError } from '../../kube/util/usage-error.ts';
import type { OutputFormat } from '../io/output.ts';
import type { ExitCode } from '../io/terminal.ts';
import { nameOfInput, readInput, type Terminal } from '../io/terminal.ts';
import { type FileDiagnostic, inFile, reportFindings } from './lint-findings.ts';

/** The key for a file that is itself a bootstrap. JSON is also YAML. */
const BARE_KEY = 'envoy.yaml';

/**
 * Checks Envoy's configuration and the weights of canaries by the rules that the webhook warns by. Envoy itself can validate
 * the rest.
 */
export async function lintEnvoy(
  files: readonly string[],
  format: OutputFormat,
  terminal: Terminal,
): Promise<ExitCode> {
  const findings: FileDiagnostic[] = [];
  const good: string[] = [];
  for (const file of files) {
    const name = nameOfInput(file);
    const sources = readConfigMapTexts(await readInput(terminal, file), BARE_KEY, () => true);
    const before = findings.length + good.length;
    for (const source of sources) {
      const { data } = source;
      const found = configurationFaults(data);
      findings.push(...found.map((fault) => inFile(name, source, fault)));
      if (holdsWeights(data)) good.push(...(found.length === 0 ? ['weights'] : []));
      else {
        const isFine = (key: string) => isBootstrapKey(key) && !found.some((fault) => fault.source === key);
        good.push(
          ...Object.keys(data)
            .filter(isFine)
            .map((key) => (key === BARE_KEY ? name : key)),
        );
      }
    }
    if (findings.length + good.length === before) {
      throw new UsageError(
        `${name} has no Envoy configuration: write a ConfigMap with a file such as envoy.json, or with weights`,
      );
    }
  }
  return reportFindings(terminal, format, findings, () => `no problems: ${good.join(', ')}`);
}

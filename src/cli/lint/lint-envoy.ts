import { UsageError } from '../../kube/util/usage-error.ts';
import { configurationFaults } from '../../sidecar/envoy/configuration-faults.ts';
import { holdsWeights, isBootstrapKey } from '../../sidecar/envoy/weights.ts';
import { readConfigMapTexts, type TextSource } from '../../sidecar/manifests/template-file.ts';
import type { OutputFormat } from '../output.ts';
import type { ExitCode } from '../terminal.ts';
import { nameOfInput, readInput, type Terminal } from '../terminal.ts';
import { validateWithEnvoy } from './envoy-binary.ts';
import { type LintFinding, reportFindings, toFinding } from './lint-findings.ts';

/** Of a file that is a bootstrap itself. Envoy takes YAML where it is told so, and JSON is YAML. */
const BARE_KEY = 'envoy.yaml';

/**
 * Looks for what would keep Envoy from starting with its configuration, and through the weights of canaries. By rules of
 * our own first, for they say what to write instead; what passes them goes through Envoy itself, if it is here.
 */
export async function lintEnvoy(
  files: readonly string[],
  format: OutputFormat,
  terminal: Terminal,
): Promise<ExitCode> {
  const findings: LintFinding[] = [];
  const good: string[] = [];
  let version: string | undefined;
  for (const file of files) {
    const name = nameOfInput(file);
    const sources = readConfigMapTexts(await readInput(terminal, file), BARE_KEY, () => true);
    const before = findings.length + good.length;
    for (const source of sources) {
      const result = await lintSource(source);
      findings.push(...result.faults.map((fault) => toFinding(name, source, fault)));
      good.push(...result.good.map((key) => (key === BARE_KEY ? name : key)));
      version ??= result.version;
    }
    if (findings.length + good.length === before) {
      throw new UsageError(
        `${name} holds nothing of Envoy's: no ConfigMap with a file such as envoy.json, or with weights`,
      );
    }
  }
  const how =
    version === undefined ? 'by rules alone: there is no envoy on the PATH' : `and Envoy ${version} takes it`;
  return reportFindings(terminal, format, findings, () => `no faults: ${good.join(', ')} (${how})`);
}

async function lintSource(source: TextSource) {
  const { data } = source;
  const found = configurationFaults(data);
  if (holdsWeights(data)) return { faults: found, good: found.length === 0 ? ['weights'] : [] };
  const results = await Promise.all(
    Object.entries(data)
      .filter(([key]) => isBootstrapKey(key))
      .map(async ([key, text]) => {
        const faults = found.filter(({ source: at }) => at === key);
        return faults.length > 0 ? { key, faults } : { key, ...(await validateWithEnvoy(key, text)) };
      }),
  );
  return {
    faults: results.flatMap(({ faults }) => faults),
    good: results.filter(({ faults }) => faults.length === 0).map(({ key }) => key),
    version: results.map((result) => ('version' in result ? result.version : undefined)).find(Boolean),
  };
}

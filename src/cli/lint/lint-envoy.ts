import {
  configurationFaults,
  holdsWeights,
  isBootstrapKey,
} from '../../injection/envoy/configuration-faults.ts';
import { readConfigMapTexts, type TextSource } from '../../injection/manifests/template-file.ts';
import { UsageError } from '../../kube/util/usage-error.ts';
import type { OutputFormat } from '../io/output.ts';
import type { ExitCode } from '../io/terminal.ts';
import { nameOfInput, readInput, type Terminal } from '../io/terminal.ts';
import { validateWithEnvoy } from './envoy-binary.ts';
import { type FileDiagnostic, inFile, reportFindings } from './lint-findings.ts';

/** The key for a file that is itself a bootstrap. JSON is also YAML. */
const BARE_KEY = 'envoy.yaml';

/**
 * Checks Envoy's configuration and the weights of canaries. Our own rules run first, because their messages say what
 * to write instead. Envoy itself then validates the rest, if `envoy` is on the PATH.
 */
export async function lintEnvoy(
  files: readonly string[],
  format: OutputFormat,
  terminal: Terminal,
): Promise<ExitCode> {
  if (files.length === 0)
    throw new UsageError("--envoy needs a file: use a ConfigMap manifest, Envoy's configuration, or -");
  const findings: FileDiagnostic[] = [];
  const good: string[] = [];
  let version: string | undefined;
  for (const file of files) {
    const name = nameOfInput(file);
    const sources = readConfigMapTexts(await readInput(terminal, file), BARE_KEY, () => true);
    const before = findings.length + good.length;
    for (const source of sources) {
      const result = await lintSource(source);
      findings.push(...result.faults.map((fault) => inFile(name, source, fault)));
      good.push(...result.good.map((key) => (key === BARE_KEY ? name : key)));
      version ??= result.version;
    }
    if (findings.length + good.length === before) {
      throw new UsageError(
        `${name} has no configuration of Envoy: write a ConfigMap with a file such as envoy.json, or with weights`,
      );
    }
  }
  const how =
    version === undefined ? 'checked without Envoy: envoy is not on the PATH' : `Envoy ${version} accepts it`;
  return reportFindings(terminal, format, findings, () => `no problems: ${good.join(', ')} (${how})`);
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

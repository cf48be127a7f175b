import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../test/env/control-plane/project-directory.ts';

/**
 * Writes the rules of deploy/monitoring/alerts.yaml as an object of Prometheus Operator. `--check` only compares, and
 * exits 1 if they differ.
 */
const RULES = join(projectDirectory(), 'deploy/monitoring/alerts.yaml');
const FILE = join(projectDirectory(), 'deploy/components/monitoring/prometheus-rule.yaml');
const HEADER = `# Generated from deploy/monitoring/alerts.yaml by \`make generate\`: do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: envoy-initializer
  namespace: envoy-initializer
  labels: {app: envoy-initializer}
spec:
`;

const rules = (await readFile(RULES, 'utf8')).replace(/^#.*\n/gm, '').replaceAll(/^(?=.)/gm, '  ');
const wanted = `${HEADER}${rules}`;
if (!process.argv.includes('--check')) await writeFile(FILE, wanted);
else if ((await readFile(FILE, 'utf8')) !== wanted) {
  process.stderr.write('deploy/components/monitoring does not match alerts.yaml: run `make generate`\n');
  process.exitCode = 1;
}

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';
import { eventually } from '../../env/eventually.ts';
import { OPERATOR_NAMESPACE } from '../../env/operator.ts';
import { ensurePrometheus, type Prometheus } from '../../env/prometheus.ts';
import { OPT_IN, STATUS } from '../../support/injection/demo.ts';
import { describeUnless } from '../../support/jest/describe-unless.ts';
import { commandsOf, section } from '../../support/jest/markdown.ts';
import { HttpsClient } from '../../support/kube/https-client.ts';
import { documentedMetrics } from '../../support/operator/documented-metrics.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';
import { RunningPrometheus } from '../../support/operator/running-prometheus.ts';

const found = await ensurePrometheus(process.env, process.stderr).catch((err: unknown) =>
  err instanceof Error ? err.message : String(err),
);

/** `describe` where a real Prometheus can be had (Debian); elsewhere its tests are skipped, and say why. */
function describeWithPrometheus(name: string, tests: (programs: Prometheus) => void): void {
  if (typeof found !== 'string') describeUnless(undefined, name, () => tests(found));
  else
    describeUnless(`no Prometheus: ${found.split('\n')[0]}`, name, () =>
      tests({ prometheus: '', promtool: '' }),
    );
}

const file = (name: string) => join(projectDirectory(), name);

/** A line of the log: what, by which controller, of which object. */
const RECONCILED = 'reconciled network default/network-1';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: object;
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

const dashboard: Dashboard = JSON.parse(await readFile(file('deploy/monitoring/dashboard.json'), 'utf8'));

/** The rules as a file of Prometheus, made as docs/operations.md says. */
const directory = await mkdtemp(join(tmpdir(), 'alerts-'));
const alerts = join(directory, 'alerts.yaml');
const make = commandsOf(
  section(await readFile(file('docs/operations.md'), 'utf8'), '## Alerts and dashboard'),
)
  .map(({ command }) => command)
  .find((command) => command.startsWith('sed '));
await runCommand(
  'bash',
  ['-c', `${make}`.replace('>alerts.yaml', `>'${alerts}'`)],
  { PATH: process.env.PATH ?? '' },
  '',
);
const { groups } = load(await readFile(alerts, 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const alertTests = load(await readFile(file('test/support/operator/alerts.test.yaml'), 'utf8')) as readonly {
  readonly alert: string;
  readonly at: string;
  readonly labels?: object;
  readonly summary?: string;
  readonly fires: object;
  readonly quiet: object;
}[];
/** Where no series says otherwise, a replica is scraped. */
const REPLICA = 'envoy_initializer_template_current{instance="a"}';
afterAll(() => rm(directory, { recursive: true }));

const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr })),
);

describeWithPrometheus('metrics', ({ prometheus: program, promtool }) => {
  let fixture: OperatorFixture;
  let prometheus: RunningPrometheus;
  let client: HttpsClient;
  const scraped = async () => await (await fetch(`${fixture.operator.metricsUrl}/metrics`)).text();
  const stop = new AbortController();
  let load: Promise<void> = Promise.resolve();

  beforeAll(async () => {
    fixture = await startOperatorFixture({ args: ['--policy=auto', '--log-level=debug'] });
    prometheus = await RunningPrometheus.start(program, fixture.controlPlane, {
      scrape: { static_configs: [{ targets: [new URL(fixture.operator.metricsUrl).host] }] },
      rules: [alerts],
    });
    client = new HttpsClient(Number(new URL(fixture.operator.webhookUrl).port), fixture.operator.caPem);
    await fixture.apply(
      secretOfAnOpenStackThatIsAway(),
      ...[1, 2, 3].map((number) => network(number)),
      network(4, { provider: 'neutron' }),
    );
    await eventually('pods are admitted', async () => Boolean(await fixture.apply(pod('missed'))));
    // Its namespace opts in only now.
    await fixture.kubectl('label', 'namespace', 'default', `${OPT_IN}=true`);
    load = keepBusy();
  });

  afterAll(async () => {
    stop.abort();
    await load;
    client?.disconnect();
    await fixture?.stop();
  });

  /** Pods that only the webhook can inject, one that has no faults of its own to be skipped for, and a change of a Network. */
  async function keepBusy(): Promise<void> {
    for (let i = 0; !stop.signal.aborted; i++) {
      await fixture.apply(
        pod(`injected-${i}`, { annotations: { [`${OPT_IN}-cpu-request`]: '10m' } }),
        pod(`skipped-${i}`, { annotations: { [STATUS]: 'copied from another' } }),
        network(1, { gateway: `10.1.0.${(i % 200) + 1}` }),
      );
      await client.call('/validate', 'no review');
    }
  }

  test.each(queries)('a query of the dashboard has a value: $title: $expr', async ({ expr }) => {
    const asked = expr.replaceAll('$__rate_interval', '30s');
    expect(asked).not.toContain('$');
    await eventually('it has a value', async () =>
      (await prometheus.query(asked)).some(({ value: [, value] }) => Number.isFinite(Number(value))),
    );
  });

  test('the operator has each series that an alert asks for, with its labels', async () => {
    const asked = rules.flatMap(({ expr }) => [...seriesIn(expr)]);
    const told = metricsOf(await scraped());
    const missing = asked.filter(({ name, labels }) => {
      const found = told.find((each) => each.name === name.replace(/_bucket$/, ''));
      // Until the first error, its counter has no labels.
      return !found || (found.labels.length > 0 && labels.some((label) => !found.labels.includes(label)));
    });
    expect(asked.length).toBeGreaterThan(20);
    expect(missing).toEqual([]);
  });

  test('the alerts that fire are those for what is wrong', async () => {
    const expected = ['EnvoyInitializerNeutronUnavailable', 'EnvoyInitializerPodsWithoutSidecar'];
    await eventually(`${expected} are about to fire`, async () => {
      const alerts = await prometheus.alerts();
      return expected.every((name) => alerts.includes(name));
    });
    // Neutron makes a reconcile fail now and then.
    const others = (await prometheus.alerts()).filter((name) => !expected.includes(name));
    expect(others.filter((name) => name !== 'EnvoyInitializerReconcilesFail')).toEqual([]);
  });

  test('docs/operations.md has each metric, its type and its labels, and no other', async () => {
    const text = await readFile(file('docs/operations.md'), 'utf8');
    const documented = documentedMetrics(text);
    await eventually('Neutron has been looked for', async () =>
      (await scraped()).includes('envoy_initializer_neutron_available 0'),
    );
    const told = metricsOf(await scraped()).filter(({ name }) => !/^(process|nodejs)_/.test(name));
    expect(documented.map(({ name, type }) => `${name} ${type}`).sort()).toEqual(
      told.map(({ name, type }) => `${name} ${type}`).sort(),
    );
    // A counter that has counted nothing yet shows no labels.
    for (const { name, labels } of told.filter((each) => each.labels.length > 0)) {
      expect({ name, labels }).toEqual({
        name,
        labels: documented.find((each) => each.name === name)?.labels,
      });
    }
  });

  test('the log has every reconcile and request, without secrets', async () => {
    await eventually('both are told of', async () => {
      const text = await readFile(fixture.logFile, 'utf8');
      const told = text
        .split('\n')
        .slice(0, -1)
        .map((line): Record<string, unknown> => JSON.parse(line));
      return (
        told.some(({ msg, controller, key }) => `${msg} ${controller} ${key}` === RECONCILED) &&
        told.some(
          ({ msg, path }) => msg === 'request to the API server' && `${path}`.includes('/networks/network-1'),
        )
      );
    });
    const log = await readFile(fixture.logFile, 'utf8');
    for (const secret of [PASSWORD, CREDENTIAL]) expect(log).not.toContain(secret);
  });

  test("promtool finds nothing wrong with the operator's metrics", async () => {
    const ours = metricsTextWithout(await scraped(), /^(process|nodejs)_/);
    expect(await runCommand(promtool, ['check', 'metrics'], {}, ours)).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });
});

/** What Prometheus scrapes of a node agent, whose requests fail and whose event loop stands still. */
const NODE_AGENT = {
  'envoy_initializer_build_info{instance="other agent",version="1"}': '1x200',
  'rest_client_requests_total{method="GET",code="200",instance="other agent"}': '0+100000x200',
  'rest_client_requests_total{method="GET",code="500",instance="other agent"}': '0+100000x200',
  'nodejs_eventloop_lag_p99_seconds{instance="other agent"}': '9x200',
  'workqueue_depth{name="network",controller="network",instance="other agent"}': '9000x200',
  'controller_runtime_reconcile_total{controller="network",result="success",instance="other agent"}':
    '0+100000x200',
  'controller_runtime_reconcile_errors_total{controller="network",instance="other agent"}': '0+100000x200',
  'envoy_initializer_cache_last_contact_timestamp_seconds{resource="networks",instance="other agent"}':
    '0+60x200',
  'envoy_initializer_cache_synced{resource="networks",instance="other agent"}': '1x200',
};

describeWithPrometheus('alert rules', ({ promtool }) => {
  test('promtool finds nothing wrong with the alert rules', async () => {
    const { code, stdout, stderr } = await runCommand(
      promtool,
      ['check', 'rules', '--lint-fatal', alerts],
      {},
      '',
    );
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/SUCCESS: \d+ rules found/);
  });

  test.each([
    ['pass their unit tests', {}],
    ['pass them as well beside a node agent that is busy and failing', NODE_AGENT],
  ])('the alert rules %s', async (_, beside) => {
    const tests = alertTests.flatMap(({ alert, at: eval_time, labels, summary, fires, quiet }) => {
      const rule = rules.find((each) => each.alert === alert);
      const exp_alerts = [
        {
          exp_labels: { ...rule?.labels, ...labels },
          exp_annotations: { ...rule?.annotations, ...(summary && { summary }) },
        },
      ];
      return [
        { series: fires, exp_alerts },
        { series: quiet, exp_alerts: [] },
      ].map(({ series, exp_alerts }) => ({
        name: alert,
        interval: '1m',
        input_series: Object.entries({ [REPLICA]: '1x200', ...series, ...beside }).map(
          ([series, values]) => ({ series, values }),
        ),
        alert_rule_test: [{ alertname: alert, eval_time, exp_alerts }],
      }));
    });
    const path = join(directory, 'test.yaml');
    await writeFile(path, JSON.stringify({ evaluation_interval: '1m', rule_files: [alerts], tests }));
    const { code, stderr } = await runCommand(promtool, ['test', 'rules', path], {}, '');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

const [PASSWORD, CREDENTIAL] = ['not-for-the-log', 'nor-is-this'];
const METADATA = { namespace: 'default' };

function pod(name: string, metadata: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...METADATA, name, ...metadata },
    spec: { containers: [{ name: 'app', image: 'busybox', env: [{ name: 'PASSWORD', value: PASSWORD }] }] },
  };
}

function network(number: number, spec: object = {}): object {
  return {
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: { ...METADATA, name: `network-${number}` },
    spec: { cidr: `10.${number}.0.0/24`, gateway: `10.${number}.0.1`, ...spec },
  };
}

function secretOfAnOpenStackThatIsAway(): object {
  const auth = {
    auth_url: 'http://127.0.0.1:9/v3',
    application_credential_id: 'an-id',
    application_credential_secret: CREDENTIAL,
  };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: OPERATOR_NAMESPACE, name: 'envoy-initializer-neutron' },
    stringData: { 'clouds.yaml': JSON.stringify({ clouds: { openstack: { auth } } }) },
  };
}

/** Each metric of a scrape, with the labels that any of its samples has. */
function metricsOf(text: string): { name: string; type: string; labels: readonly string[] }[] {
  return [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => {
    const samples = text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, 'gm'));
    const labels = [...samples].flatMap(([, inner = '']) =>
      [...inner.matchAll(/(\w+)="/g)].map(([, label = '']) => label),
    );
    return { name, type, labels: [...new Set(labels)].filter((label) => label !== 'le').sort() };
  });
}

/** The series that an expression names, with the labels by which it selects them. */
function* seriesIn(expr: string): Generator<{ readonly name: string; readonly labels: readonly string[] }> {
  for (const [, name = '', selector = ''] of expr.matchAll(
    /\b([a-z]+(?:_[a-z0-9]+)+)\b(?! *\()(?:\{(.*?)\})?/g,
  )) {
    yield { name, labels: [...selector.matchAll(/(\w+)=/g)].map(([, label = '']) => label) };
  }
}

/** A scrape without the metrics of these names. */
function metricsTextWithout(text: string, names: RegExp): string {
  const lines = text.split('\n').filter((line) => !names.test(line.replace(/^# (HELP|TYPE) /, '')));
  return lines.join('\n');
}

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { freePorts } from '../../env/control-plane/free-ports.ts';
import { eventually } from '../../env/eventually.ts';

export interface PrometheusOptions {
  /** What it scrapes: a scrape configuration without its name. */
  readonly scrape: object;
  /** Files of rules. */
  readonly rules?: readonly string[];
  /** The address that it is asked at. */
  readonly address?: string;
}

/** A Prometheus that scrapes each second; it ends with the control plane, and runs where that runs. */
export class RunningPrometheus {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  /** Where what runs beside it asks it. */
  get port(): string {
    return new URL(this.#url).port;
  }

  static async start(
    program: string,
    { directory, supervisor }: ControlPlane,
    { scrape, rules = [], address = '127.0.0.1' }: PrometheusOptions,
  ): Promise<RunningPrometheus> {
    const home = join(directory, 'prometheus');
    await mkdir(home);
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: rules,
      scrape_configs: [{ job_name: 'envoy-initializer', ...scrape }],
    };
    await writeFile(join(home, 'prometheus.yml'), JSON.stringify(config));
    const [port = 0] = await freePorts(1);
    await supervisor.start({
      name: 'prometheus',
      command: program,
      args: [
        `--config.file=${join(home, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(home, 'data')}`,
        `--web.listen-address=${address}:${port}`,
      ],
      output: { file: join(home, 'log') },
    });
    const running = new RunningPrometheus(`http://${address}:${port}`);
    await eventually('Prometheus has scraped', async () => (await running.query('up == 1')).length > 0);
    return running;
  }

  /** The series that an expression gives now. */
  async query(expression: string): Promise<readonly Series[]> {
    const { data } = await this.#get(`query?${new URLSearchParams({ query: expression })}`);
    return (data as { readonly result: readonly Series[] }).result;
  }

  /** The names of alerts whose condition holds, whether for long enough or not. */
  async alerts(): Promise<readonly string[]> {
    const { data } = await this.#get('alerts');
    const { alerts } = data as {
      readonly alerts: readonly { readonly labels: { readonly alertname: string } }[];
    };
    return alerts.map(({ labels }) => labels.alertname);
  }

  async #get(path: string): Promise<{ readonly data: unknown }> {
    const response = await fetch(`${this.#url}/api/v1/${path}`);
    const body = (await response.json()) as { readonly data: unknown; readonly error?: string };
    if (!response.ok) throw new Error(`${path}: ${body.error}`);
    return body;
  }
}

/** One time series, at one moment. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [seconds: number, value: string];
}

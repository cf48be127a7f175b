import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { freePorts } from '../../env/control-plane/free-ports.ts';
import { eventually } from '../../env/eventually.ts';

/** A Prometheus that scrapes one program, each second; it ends with the control plane. */
export class RunningPrometheus {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  static async start(
    program: string,
    { directory, supervisor }: ControlPlane,
    { target, rules }: { readonly target: string; readonly rules: string },
  ): Promise<RunningPrometheus> {
    const home = join(directory, 'prometheus');
    await mkdir(home);
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [rules],
      scrape_configs: [
        { job_name: 'envoy-initializer', static_configs: [{ targets: [new URL(target).host] }] },
      ],
    };
    await writeFile(join(home, 'prometheus.yml'), JSON.stringify(config));
    const [port = 0] = await freePorts(1);
    await supervisor.start({
      name: 'prometheus',
      command: program,
      args: [
        `--config.file=${join(home, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(home, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      output: { file: join(home, 'log') },
    });
    const running = new RunningPrometheus(`http://127.0.0.1:${port}`);
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

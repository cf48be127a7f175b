import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCli } from '../run-cli.ts';
import { ensureEnvironment } from './python-environment.ts';
import { type RunningNeutron, startNeutron } from './start.ts';

const USAGE = `usage: node test/env/neutron/cli.ts install|up

  install  install Neutron and Keystone from PyPI into the cache
  up       start both, print how to reach them, and keep them until Ctrl-C
`;

const HOUR_S = 3_600;

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

async function install(): Promise<void> {
  await ensureEnvironment(process.env, process.stderr);
}

/** Until it is up, a signal simply ends this program: the supervisor tidies up after it. */
async function up(): Promise<void> {
  const environment = await ensureEnvironment(process.env, process.stderr);
  const neutron = await startNeutron({ environment, tokenLifetimeS: HOUR_S, log: say });
  const ended = Promise.race([
    neutron.failure,
    ...['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal).then(() => undefined)),
  ]);
  const clouds = await writeClouds(neutron);
  say(`${neutron.url}, logs in ${neutron.directory}/logs; Ctrl-C ends it and removes all of it`);
  process.stdout.write(`export OS_CLIENT_CONFIG_FILE=${clouds}\n`);
  const failure = await ended;
  await neutron.stop();
  if (failure !== undefined) throw failure;
}

/** For OpenStack's own client, and for the Secret. */
async function writeClouds({ directory, keystone }: RunningNeutron): Promise<string> {
  if (!keystone) throw new Error('expected a Keystone');
  const { id, secret } = await keystone.admin.createApplicationCredential(keystone.user, 'envoy-initializer');
  const file = join(directory, 'clouds.yaml');
  const text = `clouds:
  openstack:
    auth_type: v3applicationcredential
    auth:
      auth_url: ${keystone.url}
      application_credential_id: ${id}
      application_credential_secret: ${secret}
    region_name: RegionOne
`;
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

await runCli({ install, up }, USAGE);

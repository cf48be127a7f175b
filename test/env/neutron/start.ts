import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Machine } from '../cluster/machine.ts';
import { Component, ComponentExitedError, type ComponentSpec } from '../control-plane/component.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { isOk } from '../control-plane/is-ok.ts';
import { type Supervisor, startSupervisor } from '../control-plane/supervisor.ts';
import type { OvnPrograms } from '../ovn/ovn-programs.ts';
import { KeystoneAdmin, type User } from './keystone-admin.ts';
import { writeKeystoneKeys } from './keystone-keys.ts';
import { ADMIN_PASSWORD, neutronDirectory, type PythonEnvironment } from './python-environment.ts';
import { keystoneConfig, ML2_CONFIG, neutronConfig } from './settings.ts';

/** Networks of OVN, whose databases are at these addresses: packets go between its chassis by Geneve. */
function ovnConfig({ northbound, southbound }: OvnAddresses): string {
  return `[ml2]
type_drivers = local,geneve
tenant_network_types = geneve
mechanism_drivers = ovn
extension_drivers = port_security
[ml2_type_geneve]
vni_ranges = 1:65536
max_header_size = 38
[ovn]
ovn_nb_connection = ${northbound}
ovn_sb_connection = ${southbound}
`;
}

/** In the form of OVN: `tcp:127.0.0.1:6641`. */
interface OvnAddresses {
  readonly northbound: string;
  readonly southbound: string;
}

export interface NeutronOptions {
  readonly environment: PythonEnvironment;
  /** With a Keystone before it, whose tokens live so long; without one nobody is asked who he is. */
  readonly tokenLifetimeS?: number;
  readonly log?: (message: string) => void;
  /** On a machine with OVN; without it, on this one, where networks carry no packet. */
  readonly ovn?: {
    readonly machine: Pick<Machine, 'inside' | 'address'>;
    /** With ovsdb-client. */
    readonly programs: Pick<OvnPrograms, 'env'>;
    readonly addresses: OvnAddresses;
  };
}

/** A real Neutron, on loopback or on a machine, with or without a real Keystone; the caller stops it. */
export interface RunningNeutron {
  readonly url: string;
  readonly keystone: RunningKeystone | undefined;
  readonly directory: string;
  readonly supervisor: Supervisor;
  /** Resolves when a process has ended that nobody stopped. */
  readonly failure: Promise<ComponentExitedError>;
  /** By SIGKILL, as in a crash; start() has it serve again, with all that it knew. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface RunningKeystone {
  readonly url: string;
  readonly admin: KeystoneAdmin;
  /** A member of a project of its own. */
  readonly user: User;
}

const PORT_ATTEMPTS = 5;
const SERVICE_PASSWORD = 'service';
const REGION = 'RegionOne';

/** Starts it with empty databases, and waits until it serves. Rejects, leaving nothing behind, where it does not. */
export async function startNeutron(options: NeutronOptions): Promise<RunningNeutron> {
  for (let attempt = 1; ; attempt++) {
    const supervisor = await startSupervisor(options.ovn?.machine.inside);
    try {
      return await startUnder(supervisor, options);
    } catch (error) {
      await supervisor.stop();
      const isPortTaken =
        error instanceof ComponentExitedError && error.message.includes('Address already in use');
      if (!isPortTaken || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

async function startUnder(supervisor: Supervisor, options: NeutronOptions): Promise<RunningNeutron> {
  const { environment, log = () => {} } = options;
  const directory = await supervisor.makeDirectory(join(tmpdir(), 'envoy-initializer-neutron-'));
  await mkdir(join(directory, 'logs'));
  const [port = 0, keystonePort = 0] = await freePorts(2);
  const host = options.ovn?.machine.address ?? '127.0.0.1';
  const url = `http://${host}:${port}`;
  const keystoneUrl = `http://${host}:${keystonePort}/v3`;
  const { tokenLifetimeS } = options;
  await writeFiles(directory, environment, tokenLifetimeS === undefined ? undefined : keystoneUrl, options);

  let onFailure: (error: ComponentExitedError) => void = () => {};
  const failure = new Promise<ComponentExitedError>((resolve) => {
    onFailure = resolve;
  });
  const component = (name: string, listen: number) =>
    new Component(supervisor, serviceSpec(name, host, listen, directory, options), onFailure);
  const neutron = component('neutron', port);
  const components = [neutron];
  let keystone: RunningKeystone | undefined;
  if (tokenLifetimeS !== undefined) {
    const service = component('keystone', keystonePort);
    components.push(service);
    await service.start();
    keystone = await setUpKeystone(keystoneUrl, url);
    log('Keystone is ready');
  }
  await neutron.start();
  log('Neutron is ready');
  return {
    url,
    keystone,
    directory,
    supervisor,
    failure,
    kill: () => neutron.stop('SIGKILL'),
    start: () => neutron.start(),
    async stop() {
      for (const each of components) each.expectExit();
      await supervisor.stop();
    },
  };
}

async function writeFiles(
  directory: string,
  environment: PythonEnvironment,
  keystoneUrl: string | undefined,
  { tokenLifetimeS = 0, ovn }: NeutronOptions,
): Promise<void> {
  const { apiPaste, neutronDatabase, keystoneDatabase } = environment;
  const at = (name: string) => join(directory, name);
  await copyFile(neutronDatabase, at('neutron.sqlite'));
  const keystone = keystoneUrl === undefined ? undefined : { url: keystoneUrl, password: SERVICE_PASSWORD };
  const database = at('neutron.sqlite');
  await writeFile(at('neutron.conf'), neutronConfig({ database, directory, apiPaste, keystone }));
  await writeFile(at('ml2_conf.ini'), ovn ? ovnConfig(ovn.addresses) : ML2_CONFIG);
  if (!keystone) return;
  await copyFile(keystoneDatabase, at('keystone.sqlite'));
  await writeKeystoneKeys(directory);
  const config = keystoneConfig({ database: at('keystone.sqlite'), keys: directory, tokenLifetimeS });
  await writeFile(at('keystone.conf'), config);
}

function serviceSpec(
  name: string,
  host: string,
  port: number,
  directory: string,
  { environment, ovn }: NeutronOptions,
): ComponentSpec {
  return {
    name,
    command: environment.python,
    args: [join(neutronDirectory(), 'serve.py'), `${name}.wsgi.api`, String(port), host],
    env: {
      PATH: process.env.PATH ?? '',
      ...ovn?.programs.env,
      // OVN's driver asks how many processes serve.
      ASGI_WORKERS: '1',
      HOME: directory,
      // Neutron knows there which of its processes was the first, by the number of their parent.
      TMPDIR: directory,
      // Both programs and their libraries warn of each other's future.
      PYTHONWARNINGS: 'ignore',
      OS_KEYSTONE_CONFIG_DIR: directory,
      OS_KEYSTONE_CONFIG_FILES: 'keystone.conf',
      OS_NEUTRON_CONFIG_DIR: directory,
      OS_NEUTRON_CONFIG_FILES: 'neutron.conf;ml2_conf.ini',
    },
    logFile: join(directory, 'logs', `${name}.log`),
    isReady: () => isOk(`http://${host}:${port}/${name === 'keystone' ? 'v3' : ''}`),
  };
}

/** Makes the catalog, the user that Neutron asks about tokens as, and one for us. */
async function setUpKeystone(url: string, neutronUrl: string): Promise<RunningKeystone> {
  const admin = new KeystoneAdmin(url, ADMIN_PASSWORD);
  await admin.logIn();
  await admin.addRegion(REGION);
  await admin.addEndpoint('identity', url, REGION);
  await admin.addEndpoint('network', neutronUrl, REGION);
  await admin.createUser('neutron', SERVICE_PASSWORD, 'admin', 'service');
  return { url, admin, user: await admin.createUser('demo', 'demo', 'member') };
}

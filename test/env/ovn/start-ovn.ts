import { existsSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CNI_DIRECTORIES } from '../cluster/container-config.ts';
import type { Machine } from '../cluster/machine.ts';
import { Component } from '../control-plane/component.ts';
import { runCommand } from '../control-plane/run-command.ts';
import { type Supervisor, startSupervisor } from '../control-plane/supervisor.ts';
import type { OvnPrograms } from './ovn-programs.ts';

/** Where the databases of OVN listen on the machine of the central part. */
export const OVN_PORTS = { northbound: 6641, southbound: 6642 } as const;
const OVS_SOCKET = '/run/openvswitch/db.sock';

export interface Chassis {
  readonly machine: Machine;
  /** Its name in OVN. */
  readonly name: string;
  /** Its address on the cable between the chassis, with the prefix length. */
  readonly tunnelAddress: string;
  /** The end of that cable. */
  readonly device: string;
}

/** Programs of OVN on machines. They end with the machines. */
export class Ovn {
  readonly #programs: OvnPrograms;

  constructor(programs: OvnPrograms) {
    this.#programs = programs;
  }

  /** Starts the two databases and northd. */
  async startCentral(machine: Machine): Promise<void> {
    const place = await this.#prepare(machine);
    for (const [name, port] of [
      ['ovn-nb', OVN_PORTS.northbound],
      ['ovn-sb', OVN_PORTS.southbound],
    ] as const) {
      const remotes = [`--remote=punix:/run/ovn/${name}.sock`, `--remote=ptcp:${port}:0.0.0.0`];
      await this.#database(place, name, remotes);
    }
    await place.start('ovn-northd', [
      ...['--ovnnb-db=unix:/run/ovn/ovn-nb.sock', '--ovnsb-db=unix:/run/ovn/ovn-sb.sock'],
    ]);
  }

  /**
   * Makes a machine a chassis, as docs/neutron.md has it, with ovs-cni. Packets are switched by the program and not by the
   * kernel, which need not know Open vSwitch; so the tunnels leave by a bridge of it.
   */
  async startChassis(
    { machine, name, tunnelAddress, device }: Chassis,
    central: Machine,
  ): Promise<{ readonly controller: Component }> {
    const place = await this.#prepare(machine);
    await this.#database(place, 'vswitch', [`--remote=punix:${OVS_SOCKET}`]);
    await place.run('ovs-vsctl', '--no-wait', 'init');
    await place.start('ovs-vswitchd', ['--disable-system', `unix:${OVS_SOCKET}`]);
    const settings = {
      'system-id': name,
      'ovn-remote': `tcp:${central.address}:${OVN_PORTS.southbound}`,
      'ovn-encap-type': 'geneve',
      'ovn-encap-ip': tunnelAddress.replace(/\/.*/, ''),
      'ovn-bridge-datapath-type': 'netdev',
    };
    const ids = Object.entries(settings).map(([key, value]) => `external-ids:${key}=${value}`);
    await place.run('ovs-vsctl', 'set', 'open', '.', ...ids);
    const bridge = ['add-br', 'tunnels', '--', 'set', 'bridge', 'tunnels', 'datapath_type=netdev'];
    await place.run('ovs-vsctl', ...bridge, '--', 'add-port', 'tunnels', device);
    await place.run('ip', 'address', 'add', tunnelAddress, 'dev', 'tunnels');
    await place.run('ip', 'link', 'set', 'tunnels', 'up');
    const controller = await place.start('ovn-controller', [`unix:${OVS_SOCKET}`]);
    await copyFile(this.#programs.ovsCni, join(machine.outside(CNI_DIRECTORIES.plugins), 'ovs'));
    return { controller };
  }

  /** Runs a program of theirs on a machine. Resolves with its output. */
  async run(machine: Machine, command: string, ...args: readonly string[]): Promise<string> {
    const line = machine.inside({ command, args });
    const { code, stdout, stderr } = await runCommand(line.command, line.args, this.#programs.env, '');
    if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr.trim()}`);
    return stdout;
  }

  async #prepare(machine: Machine): Promise<Place> {
    const directory = join(machine.directory, 'ovn');
    await mkdir(directory, { recursive: true });
    await this.run(machine, 'mkdir', '-p', '/run/openvswitch', '/run/ovn');
    const supervisor = await startSupervisor(machine.inside);
    return new Place(this, machine, directory, supervisor, this.#programs.env);
  }

  async #database(place: Place, name: keyof OvnPrograms['schemas'], remotes: readonly string[]) {
    const file = join(place.directory, `${name}.db`);
    await place.run('ovsdb-tool', 'create', file, this.#programs.schemas[name]);
    const socket = remotes[0]?.replace('--remote=punix:', '') ?? '';
    await place.start('ovsdb-server', [`--unixctl=${place.directory}/${name}.ctl`, ...remotes, file], {
      name,
      isReady: () =>
        place.run('test', '-S', socket).then(
          () => true,
          () => false,
        ),
    });
  }
}

/** A machine with programs of OVN. */
class Place {
  readonly directory: string;
  readonly #ovn: Ovn;
  readonly #machine: Machine;
  readonly #supervisor: Supervisor;
  readonly #env: OvnPrograms['env'];

  constructor(
    ovn: Ovn,
    machine: Machine,
    directory: string,
    supervisor: Supervisor,
    env: OvnPrograms['env'],
  ) {
    this.#ovn = ovn;
    this.#machine = machine;
    this.directory = directory;
    this.#supervisor = supervisor;
    this.#env = env;
  }

  run(command: string, ...args: readonly string[]): Promise<string> {
    return this.#ovn.run(this.#machine, command, ...args);
  }

  /** Resolves when it is ready; one that ends fails the test that waits for its work. */
  async start(
    command: string,
    args: readonly string[],
    { name = command, isReady = async () => existsSync(this.directory) } = {},
  ): Promise<Component> {
    const logFile = join(this.directory, `${name}.log`);
    const spec = { name, command, args, env: this.#env, logFile, isReady };
    const component = new Component(this.#supervisor, spec, () => {});
    await component.start();
    return component;
  }
}

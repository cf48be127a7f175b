import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { keyOf } from '../../../kube/api/object.ts';
import { toError } from '../../../kube/util/errors.ts';
import { isThere } from '../../../networks/agent/files.ts';
import type { SetUpNodePart } from '../../../networks/agent/node-agent.ts';
import { NODE_OVS } from '../../../networks/api/names.ts';
import { listed } from '../../../util/clip.ts';
import { isArray, type JsonValue, own, ownObjects, ownString, tryJson } from '../../../util/json.ts';

/**
 * The plugin for pods on Networks of provider neutron. Multus passes the ID of the port in `args.cni`, and ovs-cni up
 * to v0.39 reads it from CNI_ARGS only. It fails until the operator has written the port into the pod's annotation;
 * code 11 of the CNI specification means: try again later.
 */
const OVS_SCRIPT = `#!/bin/sh
# CNI plugin: ovs, with the port in Neutron of the pod. Written by the node agent of envoy-initializer.
set -eu
config=$(cat)
plugin="\${0%/*}/ovs"
fail() {
  printf '{"cniVersion":"1.0.0","code":%s,"msg":"%s"}' "$1" "$2"
  exit 1
}
[ -x "$plugin" ] || fail 50 'this node has no CNI plugin ovs: install ovs-cni'
port=$(printf '%s' "$config" | sed -n 's/.*"OvnPort":"\\([0-9a-f-]*\\)".*/\\1/p')
mac=$(printf '%s' "$config" | sed -n 's/.*"mac":"\\([0-9a-fA-F:]*\\)".*/\\1/p')
if [ "\${CNI_COMMAND:-}" = ADD ]; then
  [ -n "$port" ] || fail 11 'the pod has no port in Neutron yet: see its Events'
fi
CNI_ARGS="\${CNI_ARGS:+$CNI_ARGS;}IgnoreUnknown=1\${port:+;OvnPort=$port}\${mac:+;MAC=$mac}"
export CNI_ARGS
printf '%s' "$config" | "$plugin"
`;

const POD_DEVICE = /^veth/;
/** ovn-controller connects a port within a second. */
const GRACE_MS = 10_000;
/** A problem names at most this many ports, and counts the others. */
const NAMED_PORTS = 2;

/** Checks what Networks of provider neutron need on a node. */
export const ovnNode: SetUpNodePart = ({ root, plugins, nowMs }) => {
  /** When each device was first seen without a connection. */
  let known: ReadonlyMap<string, number> = new Map();

  /** ovn-controller makes the bridge br-int when it starts. */
  async function missingParts(): Promise<string | undefined> {
    const lacks = [
      ...((await isThere(join(plugins, 'ovs'))) ? [] : ['CNI plugin ovs (install ovs-cni)']),
      ...((await isThere(join(root, 'proc/sys/net/ipv4/conf/br-int')))
        ? []
        : ['bridge br-int (start ovn-controller)']),
    ];
    return lacks.length === 0 ? undefined : `it lacks ${lacks.join(' and ')}`;
  }

  async function databaseProblem(): Promise<string | undefined> {
    const database = join(root, 'run/openvswitch/db.sock');
    // Without its directory, the node has no Open vSwitch.
    if (!(await isThere(dirname(database)))) return undefined;
    try {
      const now = nowMs();
      const unconnected = (await readOvnInterfaces(database)).filter(
        ({ name, isConnected }) => POD_DEVICE.test(name) && !isConnected,
      );
      known = new Map(unconnected.map(({ name }) => [name, known.get(name) ?? now]));
      const late = unconnected.filter(({ name }) => now - (known.get(name) ?? now) >= GRACE_MS);
      const ports = late.map(({ port }) => port);
      return ports.length === 0
        ? undefined
        : `its ovn-controller does not connect ports ${listed(ports, NAMED_PORTS)}: see the log of ovn-controller, and external-ids:ovn-remote`;
    } catch (error) {
      return `cannot query Open vSwitch: ${toError(error).message}`;
    }
  }

  return {
    scripts: { [NODE_OVS]: OVS_SCRIPT },
    async problems(here) {
      const ours = here.filter(({ provider }) => provider === 'neutron');
      if (ours.length === 0) return {};
      const problem = (await missingParts()) ?? (await databaseProblem());
      return problem === undefined
        ? {}
        : Object.fromEntries(ours.map((network) => [keyOf(network), problem]));
    },
  };
};

/** An interface of Open vSwitch that has a port of OVN. */
interface OvnInterface {
  /** The name of its device. */
  readonly name: string;
  /** The ID of the port: in OpenStack, that of Neutron. */
  readonly port: string;
  /** Whether ovn-controller has set up the port (`ovn-installed`, ovn-controller(8)). */
  readonly isConnected: boolean;
}

const SELECT = {
  ...{ id: 0, method: 'transact' },
  params: [
    'Open_vSwitch',
    { op: 'select', table: 'Interface', where: [], columns: ['name', 'external_ids'] },
  ],
};
const TIMEOUT_MS = 5_000;
/** 10,000 interfaces take about 4 MiB. */
const MAX_CHARACTERS = 8 * 2 ** 20;

/**
 * Reads the interfaces with ports of OVN from the database at this Unix socket (RFC 7047, sections 4.1.3 and 5.2.2).
 * @throws Error if it does not answer within 5 s, or with anything else.
 */
async function readOvnInterfaces(socket: string): Promise<readonly OvnInterface[]> {
  const answer = await call(socket);
  const result = own(answer, 'result');
  if (!isArray(result)) throw new Error(`expected a result, got ${JSON.stringify(answer).slice(0, 200)}`);
  return ownObjects(result[0], 'rows').flatMap((row) => {
    // A map is `["map", [[key, value], …]]`.
    const [, pairs] = [own(row, 'external_ids')].flat();
    const list = isArray(pairs) ? pairs.filter(isArray) : [];
    const ids = new Map(list.map(([key, value]) => [key, value]));
    const [name, port] = [ownString(row, 'name'), ids.get('iface-id')];
    if (name === undefined || typeof port !== 'string') return [];
    return [{ name, port, isConnected: ids.get('ovn-installed') === 'true' }];
  });
}

function call(path: string): Promise<JsonValue> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => socket.write(JSON.stringify(SELECT)));
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
    let text = '';
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      // Answers have no length and no end mark.
      const answer = text.endsWith('}') ? tryJson(text) : undefined;
      if (answer !== undefined) resolve(answer);
      else if (text.length > MAX_CHARACTERS)
        reject(new Error(`an answer of more than ${MAX_CHARACTERS} characters`));
      else return;
      socket.destroy();
    });
    socket.on('error', reject).on('close', () => reject(new Error('the connection ended without an answer')));
  });
}

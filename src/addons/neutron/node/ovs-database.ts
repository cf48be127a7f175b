import { connect } from 'node:net';
import { isArray, isObject, type JsonValue, own, ownObjects, ownString } from '../../../util/json.ts';

/** An interface of Open vSwitch that has a port of OVN. */
export interface OvnInterface {
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
export async function readOvnInterfaces(socket: string): Promise<readonly OvnInterface[]> {
  const [result] = arrayIn(await call(socket), 'result');
  return ownObjects(result, 'rows').flatMap((row) => {
    const ids = new Map(pairsOf(own(row, 'external_ids')));
    const [name, port] = [ownString(row, 'name'), ids.get('iface-id')];
    if (name === undefined || port === undefined) return [];
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
      const answer = parsed(text);
      if (answer !== undefined) resolve(answer);
      else if (text.length > MAX_CHARACTERS)
        reject(new Error(`an answer of more than ${MAX_CHARACTERS} characters`));
      else return;
      socket.destroy();
    });
    socket.on('error', reject).on('close', () => reject(new Error('the connection ended without an answer')));
  });
}

/** Undefined while the text is incomplete: answers have no length and no end mark. */
function parsed(text: string): JsonValue | undefined {
  if (!text.endsWith('}')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function arrayIn(answer: JsonValue, key: string): readonly JsonValue[] {
  const value = isObject(answer) ? own(answer, key) : undefined;
  if (isArray(value)) return value;
  throw new Error(`expected a ${key}, got ${JSON.stringify(answer).slice(0, 200)}`);
}

/** The entries of a map, `["map", [[key, value], …]]`. */
function pairsOf(map: JsonValue | undefined): readonly (readonly [string, string])[] {
  const [, pairs] = isArray(map) ? map : [];
  if (!isArray(pairs)) return [];
  return pairs.flatMap((pair) => {
    const [key, value] = isArray(pair) ? pair : [];
    return typeof key === 'string' && typeof value === 'string' ? [[key, value] as const] : [];
  });
}

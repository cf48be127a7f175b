import { createHash } from 'node:crypto';

/** What the other nodes must know of a node to join it. */
export interface TableEntry {
  /** The number of its slice in every Network's range: 1 or more, unique. */
  readonly number: number;
  /** Its InternalIPs. Other nodes reach it by the first one. */
  readonly addresses: readonly string[];
  /** The UID of the Node object. */
  readonly uid: string;
}

/** Entries by node name. */
export type NodeTable = Readonly<Record<string, TableEntry>>;

/** The fields of a Node that the table needs. */
export interface TableNode {
  readonly name: string;
  readonly uid: string;
  readonly addresses: readonly string[];
}

/**
 * Returns the next table, given the previous one and the current nodes. A node keeps its number while its Node
 * exists, or while `isHeld` says that its pods still have addresses of its slice. A new node gets the lowest free
 * number.
 */
export function nextTable(
  previous: NodeTable,
  nodes: readonly TableNode[],
  isHeld: (name: string) => boolean,
): NodeTable {
  const there = new Set(nodes.map(({ name }) => name));
  const held = Object.entries(previous).filter(([name]) => !there.has(name) && isHeld(name));
  const numbers = new Set<number>(held.map(([, { number }]) => number));
  const known = new Map<string, number>();
  for (const { name } of nodes.toSorted(byName)) {
    const number = own(previous, name)?.number;
    // Two nodes have the same number only if another client has changed the table.
    if (number === undefined || numbers.has(number)) continue;
    numbers.add(number);
    known.set(name, number);
  }
  let free = 1;
  const nextFree = () => {
    while (numbers.has(free)) free += 1;
    numbers.add(free);
    return free;
  };
  const entries = nodes.toSorted(byName).map(({ name, uid, addresses }) => {
    const number = known.get(name) ?? nextFree();
    return [name, { number, addresses, uid }] as const;
  });
  return Object.fromEntries([...entries, ...held].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Reads a table; undefined if the text is not a valid one. */
export function parseTable(text: string | undefined): NodeTable | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isTable(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Identifies a table. Agents that use the same table are joined. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** The node's entry. Ignores inherited properties, because a node may be called `constructor`. */
export function own(table: NodeTable, name: string): TableEntry | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function byName(a: TableNode, b: TableNode): number {
  return a.name < b.name ? -1 : 1;
}

function isTable(value: unknown): value is NodeTable {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every(isEntry);
}

function isEntry(value: unknown): value is TableEntry {
  if (typeof value !== 'object' || value === null) return false;
  if (!('number' in value && 'addresses' in value && 'uid' in value)) return false;
  const { number, addresses, uid } = value;
  return (
    typeof number === 'number' &&
    Number.isSafeInteger(number) &&
    number >= 1 &&
    typeof uid === 'string' &&
    Array.isArray(addresses) &&
    addresses.every((address) => typeof address === 'string')
  );
}

import { createHash } from 'node:crypto';

/** What every node has to know of one: by it the nodes are joined. */
export interface TableEntry {
  /** Of its slice in every Network's range, from 1 on: no two nodes have the same. */
  readonly number: number;
  /** Its InternalIPs, the first one being that by which other nodes reach it. */
  readonly addresses: readonly string[];
  /** Of the Node object. */
  readonly uid: string;
}

/** By the names of the nodes. */
export type NodeTable = Readonly<Record<string, TableEntry>>;

/** What is read of a Node. */
export interface TableNode {
  readonly name: string;
  readonly uid: string;
  readonly addresses: readonly string[];
}

/**
 * The table that follows from the one before, and the nodes that there are. A node keeps its number for as long as its
 * Node is there, or `isHeld` says that pods of it still have addresses of its slice; another gets the lowest free one.
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
    // Two of one number there can only be where somebody has written into the table.
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

/** Reads a table as it was written; undefined for anything else. */
export function parseTable(text: string | undefined): NodeTable | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isTable(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Tells one table from another: those who go by the same one are joined. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** The node's own entry: a node may be called `constructor`. */
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

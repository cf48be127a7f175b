/**
 * A second, plain reading of RFC 6902 and 6901, to hold against the library that the program applies its
 * patches with. Works on a copy; throws where the RFC calls for an error.
 */
export interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

type Holder = unknown[] | Record<string, unknown>;

export function applyRfc6902(document: unknown, operations: readonly Operation[]): unknown {
  const root = { document: structuredClone(document) };
  for (const operation of operations) applyOne(root, operation);
  return root.document;
}

function applyOne(root: { document: unknown }, { op, path, value }: Operation): void {
  if (path === '') throw new Error('no operation of ours is on the whole document');
  if (!path.startsWith('/')) throw new Error(`${path} is no JSON Pointer`);
  const tokens = path
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = tokens.pop() ?? '';
  let holder: unknown = root.document;
  for (const token of tokens) holder = step(holder, token, path);
  if (typeof holder !== 'object' || holder === null) throw new Error(`${path}: no parent`);
  change(holder as Holder, op, last, structuredClone(value), path);
}

function step(holder: unknown, token: string, path: string): unknown {
  if (Array.isArray(holder) && isIndex(token) && Number(token) < holder.length) return holder[Number(token)];
  if (isRecord(holder) && Object.hasOwn(holder, token)) return holder[token];
  throw new Error(`${path}: ${token} is not there`);
}

function change(holder: Holder, op: string, token: string, value: unknown, path: string): void {
  if (op !== 'add') step(holder, token, path);
  if (Array.isArray(holder)) {
    const index = token === '-' ? holder.length : Number(token);
    if (token !== '-' && !isIndex(token)) throw new Error(`${path}: ${token} is no index`);
    if (index > holder.length) throw new Error(`${path}: beyond the end of the list`);
    if (op === 'add') holder.splice(index, 0, value);
    else if (op === 'replace') holder[index] = value;
    else if (op === 'remove') holder.splice(index, 1);
    else throw new Error(`unknown operation ${op}`);
  } else if (op === 'add' || op === 'replace') {
    Object.defineProperty(holder, token, { value, enumerable: true, writable: true, configurable: true });
  } else if (op === 'remove') {
    delete holder[token];
  } else {
    throw new Error(`unknown operation ${op}`);
  }
}

function isIndex(token: string): boolean {
  return /^(0|[1-9][0-9]*)$/.test(token);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

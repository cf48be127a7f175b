import { lauxlib, lua, lualib, to_luastring } from 'fengari';

/** What a health check of Argo CD says of an object. */
export interface Health {
  readonly status: string | null;
  readonly message: string | null;
}

/**
 * Runs a health check as Argo CD does: a Lua script that returns a table, with the object in `obj`.
 * @throws with Lua's message if it fails.
 */
export function luaHealth(script: string, object: object): Health {
  const state = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(state);
  const source = `obj = ${literal(object)}\nlocal hs = (function()\n${script}\nend)()\nreturn hs.status, hs.message`;
  if (lauxlib.luaL_loadstring(state, to_luastring(source)) || lua.lua_pcall(state, 0, 2, 0))
    throw new Error(lua.lua_tojsstring(state, -1) ?? 'Lua failed without a message');
  return { status: lua.lua_tojsstring(state, -2), message: lua.lua_tojsstring(state, -1) };
}

/** JSON as a literal of Lua, in which null is the absence of a value. */
function literal(value: unknown): string {
  if (value === null) return 'nil';
  if (Array.isArray(value)) return `{${value.map(literal).join(', ')}}`;
  if (typeof value === 'object')
    return `{${Object.entries(value).map(([key, each]) => `[${quoted(key)}] = ${literal(each)}`)}}`;
  return typeof value === 'string' ? quoted(value) : String(value);
}

function quoted(text: string): string {
  const bytes = [...Buffer.from(text)].map((byte) => `\\${String(byte).padStart(3, '0')}`);
  return `"${bytes.join('')}"`;
}

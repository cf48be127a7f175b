/** What we use of the Lua virtual machine, which has no types. A state is opaque. */
declare module 'fengari' {
  export const lua: {
    lua_pcall(state: object, args: number, results: number, handler: number): number;
    lua_tojsstring(state: object, index: number): string | null;
  };
  export const lauxlib: {
    luaL_newstate(): object;
    luaL_loadstring(state: object, source: Uint8Array): number;
  };
  export const lualib: { luaL_openlibs(state: object): void };
  export function to_luastring(text: string): Uint8Array;
}

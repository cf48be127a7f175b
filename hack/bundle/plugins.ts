import { join } from 'node:path';
import type { Plugin } from 'esbuild';
import { isUnused } from '../../src/kube/client/skip-api-types.ts';

const PARTS = join(import.meta.dirname, '../../src/kube/client/unused-parts.ts');

/** Does what skipApiTypes does at run time. */
export const skipApiTypes: Plugin = {
  name: 'skip-api-types',
  setup({ onResolve }) {
    onResolve({ filter: /^[^/]+$|^\.\// }, ({ path, importer }) =>
      isUnused(path, importer) ? { path: PARTS } : undefined,
    );
  },
};

/**
 * Gets node:http as a package of CommonJS would. Its import reads all its properties, and so loads WebSocket with all of
 * Node's own undici: 6 MB.
 */
export const lazyWebSocket: Plugin = {
  name: 'lazy-web-socket',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'http', namespace: 'built-in' } : undefined,
    );
    onLoad({ filter: /^http$/, namespace: 'built-in' }, () => ({
      contents: "module.exports = process.getBuiltinModule('node:http');",
    }));
  },
};

/**
 * undici goes without node:http2 where Node has none. No client asks for HTTP/2 (`allowH2: false`), and the module takes
 * 1 MB.
 */
export const withoutHttp2: Plugin = {
  name: 'without-http2',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:http2$/ }, () => ({ path: 'http2', namespace: 'absent' }));
    onLoad({ filter: /^http2$/, namespace: 'absent' }, () => ({
      contents: 'module.exports = { constants: {} };',
    }));
  },
};

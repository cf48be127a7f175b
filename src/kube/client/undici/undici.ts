import type * as Undici from 'undici';
import methods from 'undici/lib/api/index.js';
import connect from 'undici/lib/core/connect.js';
import agent from 'undici/lib/dispatcher/agent.js';
import dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import pool from 'undici/lib/dispatcher/pool.js';

/**
 * The parts of undici that the clients use. Its index also loads fetch, WebSocket, caches and mocks: 80 more modules,
 * and 3 MB. These files are not undici's API, so package.json pins its version, and a test sends a request.
 */
export const Agent: typeof Undici.Agent = agent;
export const Pool: typeof Undici.Pool = pool;
export const buildConnector: typeof Undici.buildConnector = connect;

// As its index does: request() and its siblings.
Object.assign(dispatcher.prototype, methods);

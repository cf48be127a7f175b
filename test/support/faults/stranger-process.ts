import { connect as connectPlainly, type Socket } from 'node:net';
import { connect as connectSecurely, type TLSSocket } from 'node:tls';
import type { StrangerKind, StrangerOrder, StrangerReport } from './strangers.ts';

/** A process of its own, so that what the strangers cost is not on the event loop of the test. */

const BODY_BYTES = 6_900_000;
const CHUNK = Buffer.alloc(64 * 1024, ' ');
const TRICKLE_MS = 500;
const TINY_PIECES = 300_000;
/** A ClientHello that says that more of it comes. */
const HALF_HELLO = Buffer.from('16030102000100', 'hex');

const head = (length: number, query = '') =>
  `POST /inject${query} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

const CHUNKED =
  'POST /inject HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

/** Writes so many bytes of the data, over and over, as fast as the server takes them. */
function send(socket: TLSSocket, left: number, data: Buffer = CHUNK): void {
  if (left <= 0 || socket.destroyed) return;
  const more = socket.write(data.subarray(0, Math.min(left, data.length)));
  const next = () => send(socket, left - data.length, data);
  if (more) setImmediate(next);
  else socket.once('drain', next);
}

/** A review whose JSON takes many times its text when it is parsed, in a namespace that no cache knows. */
function denseReview(): Buffer {
  const reviewed = (list: string) =>
    `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"operation":"CREATE","namespace":"made-up","object":{"metadata":{},"spec":{"containers":[],"x":[${list}]}}}}`;
  return Buffer.from(
    reviewed(
      Array(BODY_BYTES / 3)
        .fill('{}')
        .join(),
    ),
  );
}

/** Writes a byte now and then, for as long as the connection lives. */
function trickle(socket: Socket, byte: string | Buffer): void {
  const timer = setInterval(() => socket.write(byte), TRICKLE_MS);
  socket.once('close', () => clearInterval(timer));
}

let dense: Buffer | undefined;

type Act = (socket: Socket) => void;

const secured =
  (act: (socket: TLSSocket) => void) =>
  (port: number): Socket => {
    const socket = connectSecurely({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => act(socket));
    return socket;
  };
const plain =
  (act: Act) =>
  (port: number): Socket => {
    const socket = connectPlainly({ host: '127.0.0.1', port }, () => act(socket));
    return socket;
  };

const KINDS: Readonly<Record<StrangerKind, (port: number) => Socket>> = {
  'slow body': secured((socket) => {
    socket.write(head(BODY_BYTES, '?timeout=30s'));
    send(socket, BODY_BYTES - 1);
  }),
  'declared body': secured((socket) => {
    socket.write(head(BODY_BYTES, '?timeout=30s'));
    trickle(socket, ' ');
  }),
  'chunked body': secured((socket) => {
    socket.write(`${CHUNKED}${BODY_BYTES.toString(16)}\r\n`);
    send(socket, BODY_BYTES - 1);
  }),
  'body in tiny pieces': secured((socket) => {
    const piece = '1\r\n \r\n';
    socket.write(CHUNKED);
    send(socket, TINY_PIECES * piece.length, Buffer.from(piece.repeat(1000)));
  }),
  'dense review': secured((socket) => {
    dense ??= denseReview();
    socket.write(head(dense.length));
    send(socket, dense.length, dense);
    socket.once('data', () => socket.end());
  }),
  'slow head': secured((socket) => {
    socket.write('POST /inject HTTP/1.1\r\nHost: localhost\r\n');
    trickle(socket, 'a');
  }),
  'slow second head': secured((socket) => {
    socket.once('data', () => {
      socket.write('POST /inject HTTP/1.1\r\nHost: localhost\r\n');
      trickle(socket, 'a');
    });
    socket.write('GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n');
  }),
  'unread answers': secured((socket) => {
    socket.pause();
    socket.write(`${head(2)}{}`.repeat(50_000));
  }),
  'silent TLS': secured(() => {}),
  'silent TCP': plain(() => {}),
  'half handshake': plain((socket) => {
    socket.write(HALF_HELLO);
    trickle(socket, Buffer.of(0));
  }),
};

function report(message: StrangerReport): void {
  process.send?.(message);
}

process.on('message', ({ kind, count, port }: StrangerOrder) => {
  const start = performance.now();
  const lives: number[] = [];
  let [open, opened] = [0, 0];
  for (let i = 0; i < count; i += 1) {
    const socket = KINDS[kind](port);
    let since = start;
    socket.on('error', () => {});
    if (kind !== 'unread answers') socket.on('data', () => {});
    socket.once('connect', () => {
      since = performance.now();
      open += 1;
      opened += 1;
      report({ what: 'open', open });
    });
    socket.once('close', () => {
      if (opened > lives.length) open -= 1;
      lives.push(performance.now() - since);
      report({ what: 'open', open });
      if (lives.length === count) report({ what: 'closed', longestMs: Math.max(...lives) });
    });
  }
});
// Its end is the test's: there is nothing to tidy up.
process.on('disconnect', () => process.exit());

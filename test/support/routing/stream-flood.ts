import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** RFC 9113, 4.1. */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const [HEADERS, SETTINGS, END_HEADERS] = [1, 4, 4];
/** `:method: POST`, `:path: /`, `:scheme: http` of HPACK's own table. */
const REQUEST = Buffer.of(0x83, 0x84, 0x86);
const LONG = 3900;
/** `:authority: a` and `x: xxx…`, which get the numbers 63 and 62 of the table. RFC 7541, 5.1: a length beyond 127. */
const NAMED = Buffer.concat([
  ...[REQUEST, Buffer.of(0x41, 1), Buffer.from('a'), Buffer.of(0x40, 1), Buffer.from('x')],
  ...[Buffer.of(127, ((LONG - 127) % 128) + 128, Math.floor((LONG - 127) / 128)), Buffer.alloc(LONG, 'x')],
]);
/** The same header fourteen times, by its number: 18 bytes on the wire, 55 kB for who takes them. */
const REPEATED = Buffer.concat([REQUEST, Buffer.of(0x80 | 63), Buffer.alloc(14, 0x80 | 62)]);
const AT_ONCE = 100;

/** Opens streams of HTTP/2 that never end, whatever the server says, until it closes the connection or `streams` are open. */
export async function floodStreams(port: number, streams: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.resume();
  const isClosed = new Promise((resolve) => socket.once('close', resolve));
  const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(Buffer.concat([preface, frame(SETTINGS, 0, 0, Buffer.alloc(0))]));
  socket.write(frame(HEADERS, END_HEADERS, 1, NAMED));
  for (let opened = 1; opened < streams && !socket.destroyed; opened += AT_ONCE) {
    const part = Array.from({ length: AT_ONCE }, (_, i) =>
      frame(HEADERS, END_HEADERS, 2 * (opened + i) + 1, REPEATED),
    );
    const isTaken = new Promise((resolve) => socket.write(Buffer.concat(part), resolve));
    await Promise.race([isTaken, isClosed]);
  }
  return socket;
}

import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** A certificate for localhost that is its own authority, and its key; both as PEM. */
export interface TestKeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Makes a new key and a certificate for it, valid from yesterday to tomorrow (RFC 5280, in DER by hand). */
export function makeKeyPair(): TestKeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const body = certificateBody(publicKey);
  const signature = sign('sha256', body, privateKey);
  const der = sequence(body, ECDSA_WITH_SHA256, bitString(signature));
  const base64 = der.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function certificateBody(publicKey: KeyObject): Buffer {
  const day = 86_400_000;
  const name = sequence(
    tlv(0x31, sequence(COMMON_NAME, tlv(0x0c, Buffer.from(randomBytes(8).toString('hex'))))),
  );
  const altNames = sequence(tlv(0x82, Buffer.from('localhost')));
  return sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.concat([Buffer.from([0x40]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    name,
    sequence(time(Date.now() - day), time(Date.now() + day)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, sequence(sequence(SUBJECT_ALT_NAME, tlv(0x04, altNames)))),
  );
}

function tlv(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(parts));
}

function bitString(content: Buffer): Buffer {
  return tlv(0x03, Buffer.concat([Buffer.from([0]), content]));
}

function time(milliseconds: number): Buffer {
  const text = new Date(milliseconds).toISOString().replace(/[-:T]|\.\d+/g, '');
  return tlv(0x18, Buffer.from(text));
}

const COMMON_NAME = tlv(0x06, Buffer.from([0x55, 0x04, 0x03]));
const SUBJECT_ALT_NAME = tlv(0x06, Buffer.from([0x55, 0x1d, 0x11]));
const ECDSA_WITH_SHA256 = sequence(tlv(0x06, Buffer.from([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02])));

import { inflateRawSync } from 'node:zlib';

/** Signature and bytes of the last part of an archive, without a comment, and bytes of the head of an entry and of a file. */
const END = 0x06054b50;
const END_BYTES = 22;
const ENTRY_BYTES = 46;
const FILE_BYTES = 30;

/**
 * The texts of the files below `directory` in a zip archive, by their path below it. It reads what Go writes: files that are
 * deflated, less than 4 GB, and no comment at the end (PKWARE's APPNOTE.TXT, 4.3).
 * @throws Error if the archive is of another kind.
 */
export function textsInZip(archive: Buffer, directory: string): ReadonlyMap<string, string> {
  const end = archive.length - END_BYTES;
  if (end < 0 || archive.readUInt32LE(end) !== END)
    throw new Error('expected a zip archive without a comment');
  const texts = new Map<string, string>();
  let entry = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    const nameBytes = archive.readUInt16LE(entry + 28);
    const name = archive.toString('utf8', entry + ENTRY_BYTES, entry + ENTRY_BYTES + nameBytes);
    if (name.startsWith(directory)) {
      const file = archive.readUInt32LE(entry + 42);
      const start = file + FILE_BYTES + archive.readUInt16LE(file + 26) + archive.readUInt16LE(file + 28);
      const deflated = archive.subarray(start, start + archive.readUInt32LE(entry + 20));
      texts.set(name.slice(directory.length), inflateRawSync(deflated).toString('utf8'));
    }
    entry += ENTRY_BYTES + nameBytes + archive.readUInt16LE(entry + 30) + archive.readUInt16LE(entry + 32);
  }
  return texts;
}

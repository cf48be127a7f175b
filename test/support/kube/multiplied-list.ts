import { Duplex, Readable } from 'node:stream';
import { json } from 'node:stream/consumers';

interface List {
  readonly items: readonly { readonly metadata: { readonly name: string; readonly uid: string } }[];
}

/** Passes a list on with each of its items so many times, each time under another name and UID. */
export function multipliedList(times: number): Duplex {
  return Duplex.from(async function* (body: AsyncIterable<Uint8Array>) {
    const { items, ...rest } = (await json(Readable.from(body))) as List;
    yield `${JSON.stringify(rest).slice(0, -1)},"items":[`;
    let separator = '';
    for (const item of items) {
      for (let copy = 0; copy < times; copy++) {
        const metadata = {
          ...item.metadata,
          name: `${item.metadata.name}-${copy}`,
          uid: `${copy}-${item.metadata.uid}`,
        };
        yield separator + JSON.stringify({ ...item, metadata });
        separator = ',';
      }
    }
    yield ']}\n';
  });
}

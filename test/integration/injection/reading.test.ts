import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { injectManifests } from '../../../src/addons/manifests/manifests.ts';
import { objectsOf } from '../../../src/injection/podspec/workload.ts';
import { type JsonObject, type JsonValue, own } from '../../../src/util/json.ts';
import { readManifests } from '../../../src/util/manifests/parse.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { must } from '../../env/operator.ts';
import { MANIFEST_OPTIONS } from '../../support/injection/demo.ts';
import { ODD_JSON, ODD_YAML, type OddText } from '../../support/injection/reading-corpus.ts';
import { since } from '../../support/jest/since.ts';

/** kubectl is the oracle: it reads the texts as they are, and with their sidecars. */
let controlPlane: ControlPlane;
let directory: string;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  directory = await mkdtemp(join(tmpdir(), 'envoy-initializer-reading-'));
});

afterAll(async () => {
  await controlPlane?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** The objects that kubectl reads from all texts in their order. Unlike `apply`, `create` keeps what is null. */
async function readByKubectl(folder: string, texts: readonly string[]): Promise<readonly JsonObject[]> {
  await mkdir(join(directory, folder));
  for (const [index, text] of texts.entries()) {
    const name = `${String(index).padStart(3, '0')}.yaml`;
    await writeFile(join(directory, folder, name), text);
  }
  const args = [
    'create',
    '--dry-run=client',
    '--validate=false',
    '-o',
    'json',
    '-f',
    join(directory, folder),
  ];
  const { stdout } = await must(controlPlane, args);
  return JSON.parse(`[${stdout.replaceAll(/^\}\n\{/gm, '},{')}]`).map(withoutNamespace);
}

/** kubectl fills in the namespace. */
function withoutNamespace(object: JsonObject): JsonObject {
  const { namespace: _, ...metadata } = object.metadata as JsonObject;
  return { ...object, metadata };
}

/** The objects that we read, as JSON has them. */
function objectsIn(text: string): readonly JsonObject[] {
  const documents: readonly JsonValue[] = JSON.parse(JSON.stringify(readManifests(text)));
  return documents.flatMap((document) => Array.from(objectsOf(document), ([object]) => object));
}

/** Older ones read neither several JSON documents nor a comment before a JSON document. */
const { describe } = since(33);

describe.each<[string, readonly OddText[], number]>([
  ['YAML', ODD_YAML, 100],
  ['JSON', ODD_JSON, 15],
])('%s', (kind, corpus, least) => {
  const texts = corpus.map(([, text]) => text);
  test(`what kubectl reads of odd ${kind} is what inject reads, in at least ${least} forms (since 1.33)`, async () => {
    expect(corpus.length).toBeGreaterThanOrEqual(least);
    const found = corpus.flatMap(([name, text]) => objectsIn(text).map((object) => ({ name, object })));
    const applied = await readByKubectl(`${kind}-as-it-is`, texts);
    expect(applied.map((object, index) => ({ name: found[index]?.name, object }))).toEqual(found);
  });

  test(`what kubectl reads of injected odd ${kind} is what inject decided (since 1.33)`, async () => {
    const injected = texts.map((text) => injectManifests(text, MANIFEST_OPTIONS));
    const found = injected.flatMap(({ text }, index) =>
      objectsIn(text).map((object) => ({ name: corpus[index]?.[0], object })),
    );
    const applied = await readByKubectl(
      `${kind}-with-sidecars`,
      injected.map(({ text }) => text),
    );
    expect(applied.map((object, index) => ({ name: found[index]?.name, object }))).toEqual(found);
    const bare = applied.filter((object) => own(own(object, 'metadata'), 'annotations') === undefined);
    expect(bare).toEqual([]);
  });
});

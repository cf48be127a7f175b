import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';

const text = await readFile('test/security.md', 'utf8');
const claims = [...text.matchAll(/`(\S+) › ([^`]+)`/g)].map(([, file = '', title = '']) => ({ file, title }));

test('test/security.md names a test in each row of its tables', () => {
  const rows = text.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| attack'));
  expect(rows.filter((row) => !/`\S+ › [^`]+`/.test(row))).toEqual([]);
  expect(claims.length).toBeGreaterThan(20);
});

test.each(claims)('$file contains the test: $title', async ({ file, title }) => {
  expect(await readFile(file, 'utf8')).toContain(title);
});

test('no label of a metric is for pods, nodes, users or addresses', async () => {
  const files = (await readdir('src', { recursive: true })).filter((file) => file.endsWith('.ts'));
  const texts = await Promise.all(files.map((file) => readFile(`src/${file}`, 'utf8')));
  const made = /labelNames(?::| =) \[.*?\]|\b(?:counter|gauge|histogram|read)\(.*?\)[,;]\n/gs;
  const labels = texts
    .filter((each) => /from '(prom-client|\S*prometheus\/index\.ts)'/.test(each))
    .flatMap((each) => [...each.matchAll(made)].flatMap(([call]) => call.match(/(?<=')[a-z]+(?=')/g) ?? []));
  expect(labels).toEqual(expect.arrayContaining(['namespace', 'route', 'template', 'reason']));
  expect(labels.filter((label) => /pod|node|uid|ip$|address|user/.test(label))).toEqual([]);
});

test('test/security.md names each file that writes to the API server or to Neutron, and no other', async () => {
  const writes =
    /\b(client|leaderClient|api|api\(\)|session|secret)\.(create|apply|mergePatch|jsonPatch|delete|update|replace|tag)\(|request\(\s*'(POST|PUT|PATCH|DELETE)'|\bevict\(/;
  const files = (await readdir('src', { recursive: true })).filter(
    // The client itself, and commands, which have the rights of their user.
    (file) => file.endsWith('.ts') && !/\bcli\/|kube\/client\/client/.test(file),
  );
  const texts = await Promise.all(files.map((file) => readFile(`src/${file}`, 'utf8')));
  const writers = files.filter((_, index) => writes.test(texts[index] ?? ''));
  const [, table = ''] = text.split('## The confused deputy');
  const named = [...(table.split('\n## ')[0] ?? '').matchAll(/`([a-z0-9/-]+\.ts)`/g)].map(([, file]) => file);
  expect(writers.toSorted()).toEqual(named.toSorted());
});

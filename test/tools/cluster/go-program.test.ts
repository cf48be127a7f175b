import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ensureGoProgram } from '../../env/cluster/go-program.ts';
import { fakeGoEnv, makeFakeGo } from '../../support/operator/fake-go.ts';

test('a program is built once, where two ask at once', async () => {
  const cache = mkdtempSync(join(tmpdir(), 'go-program-cache-'));
  const fakeGo = makeFakeGo();
  try {
    const written: string[] = [];
    const progress = { write: (text: string) => written.push(text) };
    const program = { name: 'thing', directory: cache, package: '.', goVersion: '1.20', sources: [] };
    const ensure = () => ensureGoProgram(program, fakeGoEnv(fakeGo, cache), progress);
    const [first, second] = await Promise.all([ensure(), ensure()]);
    expect(first).toBe(second);
    expect(readFileSync(join(fakeGo, 'builds'), 'utf8').trim().split('\n')).toHaveLength(1);
    expect(written).toContain('waiting for another build of thing\n');
    expect(readdirSync(dirname(first)).filter((name) => name.startsWith('.building-'))).toEqual([]);
  } finally {
    rmSync(cache, { recursive: true });
    rmSync(fakeGo, { recursive: true });
  }
});

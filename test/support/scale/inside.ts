import { renameSync, writeFileSync } from 'node:fs';
import { RunCounter } from './run-counter.ts';

// Imported by a process before its program (`node --import inside.ts?out=FILE`). At each SIGUSR2 it writes into FILE how
// often each function of its program ran since the last time.
const out = new URL(import.meta.url).searchParams.get('out') ?? '';
const counter = new RunCounter();
await counter.start();

process.on('SIGUSR2', async () => {
  writeFileSync(`${out}.part`, JSON.stringify(await counter.since()));
  renameSync(`${out}.part`, out);
});

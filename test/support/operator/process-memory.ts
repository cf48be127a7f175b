import { readFile } from 'node:fs/promises';

/** What a process has of the machine's memory now, and had at most, in MiB. */
export async function memoryOf(pid: number): Promise<{ readonly now: number; readonly most: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const mebibytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
  return { now: mebibytes('VmRSS'), most: mebibytes('VmHWM') };
}

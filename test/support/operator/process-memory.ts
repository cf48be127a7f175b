import { readFile } from 'node:fs/promises';

export interface ProcessMemory {
  /** With the pages of files, which processes share: how many the kernel maps differs from copy to copy of one file. */
  readonly now: number;
  /** Of it, without files. */
  readonly own: number;
  /** The most that `now` ever was. */
  readonly most: number;
}

/** What a process has of the machine's memory, in MiB. */
export async function memoryOf(pid: number): Promise<ProcessMemory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const mebibytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
  return { now: mebibytes('VmRSS'), own: mebibytes('RssAnon'), most: mebibytes('VmHWM') };
}

import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CommandLine } from '../../control-plane/supervisor.ts';

/** Runs registry-process.ts, which stands beside this file, as TypeScript in the sources and as JavaScript in what tsc made of them. */
export function registryCommand(address: string, port: number, images: string): CommandLine {
  const extension = extname(fileURLToPath(import.meta.url));
  const script = fileURLToPath(new URL(`registry-process${extension}`, import.meta.url));
  return { command: process.execPath, args: [script, address, String(port), images] };
}

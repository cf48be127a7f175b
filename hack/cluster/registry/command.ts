import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Runs registry-process.ts, which stands beside this file, as TypeScript in the sources and as JavaScript in what tsc made of them. */
export function registryCommand(address: string, port: number, images: string) {
  const extension = extname(fileURLToPath(import.meta.url));
  const script = fileURLToPath(new URL(`registry-process${extension}`, import.meta.url));
  return { command: process.execPath, args: [script, address, String(port), images] };
}

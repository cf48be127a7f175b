import { join } from 'node:path';
import { run } from './run.ts';

/** Where the Dockerfile puts it. */
const BILL = 'app/sbom.cdx.json';

/** Reads the bill of materials (CycloneDX) out of an image in a registry, so that it is of that image and no other. */
export async function readBillOfMaterials(
  crane: string,
  reference: string,
  scratch: string,
): Promise<string> {
  const files = join(scratch, 'image.tar');
  await run(crane, ['export', reference, files]);
  return run('tar', ['--extract', '--to-stdout', '--file', files, BILL]);
}

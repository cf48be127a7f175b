import { join } from 'node:path';
import { run } from './run.ts';

/** The file that the Dockerfile writes. */
const BILL = 'app/sbom.cdx.json';

/** Reads the bill of materials (CycloneDX) from an image in a registry, so that it describes exactly that image. */
export async function readBillOfMaterials(
  crane: string,
  reference: string,
  scratch: string,
): Promise<string> {
  const files = join(scratch, 'image.tar');
  await run(crane, ['export', reference, files]);
  return run('tar', ['--extract', '--to-stdout', '--file', files, BILL]);
}

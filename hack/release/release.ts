import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ProgressStream, withProgress } from '../../test/env/control-plane/progress.ts';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import { imageParts } from '../deploy/image-reference.ts';
import { readBillOfMaterials } from './bill-of-materials.ts';
import { build } from './build.ts';
import { obstacles, type ReleaseSettings } from './obstacles.ts';
import { provenance } from './provenance.ts';
import { push } from './push.ts';
import { Refusal, run } from './run.ts';
import { sign } from './sign.ts';
import { readSource } from './source.ts';
import { ensureTool } from './tools.ts';

/** An image in its registry. */
export interface ReleasedImage {
  /** As `name@digest`. */
  readonly reference: string;
  /** CycloneDX, as in the image. */
  readonly billOfMaterials: string;
}

/** Returns everything that prevents a release from this checkout, one line each. */
export async function findObstacles(settings: ReleaseSettings): Promise<string[]> {
  return obstacles(settings, {
    source: await readSource(projectDirectory()),
    hasKeyFile: existsSync(settings.key),
    hasPassword: process.env.COSIGN_PASSWORD !== undefined,
  });
}

/** Builds, pushes and signs the image, and attaches its bill of materials and its provenance. */
export async function release(settings: ReleaseSettings, progress: ProgressStream): Promise<ReleasedImage> {
  const source = await readSource(projectDirectory());
  const faults = await findObstacles(settings);
  if (faults.length > 0) throw new Refusal(faults.join('\n'));
  const cosign = await ensureTool('cosign', process.env, progress);
  const crane = await ensureTool('crane', process.env, progress);
  const startedOn = new Date();
  await build(settings, projectDirectory());
  const finishedOn = new Date();
  const builderVersion = (await run(settings.builder, ['--version'])).trim();
  const scratch = await mkdtemp(join(tmpdir(), 'envoy-initializer-release-'));
  try {
    const digest = await withProgress(progress, `pushing ${settings.image}`, () => push(settings, scratch));
    const reference = `${imageParts(settings.image).newName}@${digest}`;
    const billOfMaterials = await withProgress(progress, `signing ${reference}`, async (detail) => {
      detail('reading the bill of materials');
      const bill = await readBillOfMaterials(crane, reference, scratch);
      detail('cosign');
      const statement = provenance({ settings, source, builderVersion, startedOn, finishedOn });
      const statements = { cyclonedx: bill, slsaprovenance1: JSON.stringify(statement) };
      await sign({ ...settings, cosign, scratch }, reference, statements);
      return bill;
    });
    return { reference, billOfMaterials };
  } finally {
    await rm(scratch, { recursive: true });
  }
}

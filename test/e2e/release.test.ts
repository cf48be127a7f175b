import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { push } from '../../hack/release/push.ts';
import { pushChart } from '../../hack/release/push-chart.ts';
import { readSource } from '../../hack/release/source.ts';
import { ensureTool, findTool } from '../../hack/release/tools.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { describeUnless } from '../support/jest/describe-unless.ts';
import { nodeObstacle } from '../support/jest/describe-with-cluster.ts';
import { commandsOf, section } from '../support/jest/markdown.ts';
import { ReleaseStage } from '../support/operator/release-stage.ts';

const PREPARATION_MS = 30 * 60_000;
const DOCUMENTED = 'registry.example.com/envoy-initializer:0.0.1';
const cosign = await findTool('cosign', process.env);
const obstacle =
  nodeObstacle ?? (cosign === undefined ? 'cosign is not built: make test-release builds it' : undefined);

/** What `cosign verify-attestation` printed: the statement in the first envelope. */
function statement(printed: string) {
  const { payload } = JSON.parse(printed.split('\n')[0] ?? '');
  return JSON.parse(Buffer.from(payload, 'base64').toString());
}

describeUnless(obstacle, 'make release', () => {
  let stage: ReleaseStage;
  let image: string;
  let base: string;
  let repository: string;
  let digest: string;
  /** What belongs to an image, as the registry keeps it. */
  const referrers = (of: string) => `${repository}:${of.replace(':', '-')}`;
  const verify = (key: string, reference: string) =>
    stage.type(`cosign verify --key ${key}.pub --insecure-ignore-tlog ${reference}`);
  const verifyAttestation = (key: string, type: string, reference: string) =>
    stage.type(
      `cosign verify-attestation --key ${key}.pub --insecure-ignore-tlog --type ${type} ${reference}`,
    );

  beforeAll(async () => {
    stage = await ReleaseStage.start();
    repository = `${stage.registry}/envoy-initializer`;
    image = `${repository}:0.0.1`;
    base = await stage.pushBase();
    const printed = await stage.release(image, base);
    digest = printed.trim().split('@')[1] ?? '';
  }, PREPARATION_MS);
  afterAll(() => stage?.stop());

  test('make release prints the digest that the registry has under the tag', async () => {
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect((await stage.succeed(`crane digest ${image}`)).trim()).toBe(digest);
  });

  test('make release makes what the commands of docs/install.md verify', async () => {
    const text = readFileSync(join(projectDirectory(), 'docs/install.md'), 'utf8');
    const commands = commandsOf(section(text, '### Verify it')).map(({ command }) => command);
    expect(commands).toHaveLength(3);
    for (const command of commands) {
      const { code, stderr } = await stage.type(command.replaceAll(DOCUMENTED, image));
      expect({ command, code, stderr }).toMatchObject({ code: 0 });
    }
  });

  test('make release attaches the bill of materials that is in the image', async () => {
    const { stdout } = await verifyAttestation('cosign', 'cyclonedx', image);
    const attached = statement(stdout);
    expect(attached.subject).toEqual([expect.objectContaining({ digest: { sha256: digest.slice(7) } })]);
    const inside = await stage.succeed(
      `crane export ${image} - | tar --extract --to-stdout app/sbom.cdx.json`,
    );
    expect(attached.predicate).toEqual(JSON.parse(inside));
    const names = attached.predicate.components.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['node', '@kubernetes/client-node']));
  });

  test('make release attaches the provenance: the commit and the base', async () => {
    const { stdout } = await verifyAttestation('cosign', 'slsaprovenance1', image);
    const { revision } = await readSource(projectDirectory());
    const { predicateType, predicate } = statement(stdout);
    expect(predicateType).toBe('https://slsa.dev/provenance/v1');
    const digests = predicate.buildDefinition.resolvedDependencies.map(
      (each: { digest: object }) => each.digest,
    );
    expect(digests).toEqual([{ gitCommit: revision }, { sha256: base.split('@sha256:')[1] }]);
  });

  test('make release makes a signature that another key does not verify', async () => {
    expect((await verify('cosign', image)).code).toBe(0);
    // `cosign verify` is content with one of the two attestations.
    const { manifests } = JSON.parse(await stage.succeed(`crane manifest ${referrers(digest)}`));
    expect(manifests).toHaveLength(3);
    for (const result of [
      await verify('other', image),
      await verifyAttestation('other', 'cyclonedx', image),
    ]) {
      expect(result).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('accepted signatures do not match'),
      });
    }
  });

  test('make release makes attestations of two types, and of no other', async () => {
    const { code, stderr } = await verifyAttestation('cosign', 'spdxjson', image);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/none of the attestations matched|no matching attestations/);
  });

  test('make release makes signatures of that image alone, not with another label or under its tag', async () => {
    const tampered = await stage.succeed(
      `crane mutate --label tampered=yes --tag ${repository}:tampered ${image}`,
    );
    const other = tampered.trim().split('@')[1] ?? '';
    expect(other).not.toBe(digest);
    const unsigned = await verify('cosign', `${repository}@${other}`);
    expect(unsigned.stderr).toContain('no signatures found');
    expect(unsigned.code).not.toBe(0);
    // An attacker gives it the signatures of the other, as the registry keeps them.
    await stage.succeed(`crane cp ${referrers(digest)} ${referrers(other)}`);
    for (const result of [
      await verify('cosign', `${repository}@${other}`),
      await verifyAttestation('cosign', 'cyclonedx', `${repository}@${other}`),
    ]) {
      expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('does not match any digest') });
    }
    expect((await verify('cosign', `${repository}@${digest}`)).code).toBe(0);
  });

  test('make release pushes the Helm chart, signed, from where Helm pulls it', async () => {
    const [out, packed] = [join(stage.directory, 'chart'), join(stage.directory, 'chart.tgz')];
    await stage.succeed(`node '${projectDirectory()}/hack/generate-manifests.ts' ${out}`);
    await stage.succeed(`tar -czf ${packed} -C ${out}/helm envoy-initializer`);
    const settings = { image, pushFlags: ['--tls-verify=false'] };
    const [key, scratch] = [join(stage.directory, 'cosign.key'), stage.directory];
    process.env.COSIGN_PASSWORD = stage.password;
    const signer = { cosign: cosign ?? '', key, transparencyLog: false, scratch };
    const helm = await ensureTool('helm', process.env, process.stderr);
    const reference = await pushChart(helm, settings, packed, signer);
    expect(reference).toMatch(new RegExp(`^${stage.registry}/charts/envoy-initializer@sha256:`));
    expect((await verify('cosign', reference)).code).toBe(0);
    expect((await verify('other', reference)).code).not.toBe(0);
    const oci = `oci://${stage.registry}/charts/envoy-initializer --version 0.0.1 --plain-http`;
    expect(await stage.succeed(`helm show chart ${oci}`)).toContain('artifacthub.io/crds: |');
    expect(await stage.succeed(`helm template release ${oci}`)).toContain('\nkind: Deployment\n');
  });

  test('make release says how to log in to a registry that refuses the push', async () => {
    const closed = createServer((_, response) => {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="closed"' }).end('{}');
    }).listen(0, '127.0.0.1');
    await once(closed, 'listening');
    try {
      const { port } = closed.address() as AddressInfo;
      const refused = `127.0.0.1:${port}/envoy-initializer:0.0.1`;
      await stage.succeed(`buildah tag ${image} ${refused}`);
      const { builder, directory } = stage;
      const pushing = push({ builder, image: refused, pushFlags: ['--tls-verify=false'] }, directory);
      await expect(pushing).rejects.toThrow(`run \`buildah login 127.0.0.1:${port}\``);
    } finally {
      closed.close();
    }
  });
});

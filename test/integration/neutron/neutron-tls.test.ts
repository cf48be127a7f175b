import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import type { CertificateRequest } from '../../../src/certificates/x509/authority.ts';
import { describeWithNeutron } from '../../support/jest/describe-with-neutron.ts';
import { NeutronLab } from '../../support/neutron/neutron-lab.ts';
import { anAuthority, hours, TlsCloud, tlsClouds } from '../../support/neutron/tls-cloud.ts';

jest.setTimeout(300_000);

const { signal } = new AbortController();

describeWithNeutron('a real Neutron and a real Keystone behind TLS', (environment) => {
  let lab: NeutronLab;
  let cloud: TlsCloud;
  let credential: { readonly id: string; readonly secret: string };

  beforeAll(async () => {
    lab = await NeutronLab.start(environment, { tokenLifetimeS: 3_600 });
    const { keystone } = lab.neutron;
    if (!keystone) throw new Error('expected a Keystone');
    cloud = await TlsCloud.start(lab);
    credential = await keystone.admin.createApplicationCredential(keystone.user, 'tls');
  });
  afterEach(() => cloud.neutron.heal());
  afterAll(async () => {
    await cloud?.close();
    await lab?.stop();
  });

  test.each<[string, (pem: string, other: string) => { cacert?: string; inFile?: object }]>([
    ['beside clouds.yaml', (pem) => ({ cacert: pem })],
    ['in clouds.yaml', (pem) => ({ inFile: { cacert: pem } })],
    ['beside a clouds.yaml with a path', (pem) => ({ cacert: pem, inFile: { cacert: '/etc/ssl/ca.pem' } })],
    ['among others', (pem, other) => ({ cacert: `# theirs\n${other}\n# ours\n${pem}` })],
  ])('are trusted by the authority’s certificate %s', async (_, given) => {
    const { cacert = '', inFile } = given(cloud.authority.certPem, (await anAuthority()).certPem);
    const { url } = await cloud.newKeystone();
    const operator = lab.operator({ cloudsYaml: tlsClouds(url, credential, inFile), cacert });
    const network = lab.newNetwork();
    expect(await lab.ensure(network, operator)).toMatchObject({ kind: 'ready', change: 'created' });
    expect(await operator.actual(network, signal)).toEqual({ cidr: '10.5.0.0/24', gateway: '10.5.0.1' });
    expect(await lab.remove(network, operator)).toEqual({ kind: 'gone' });
    expect(cloud.neutron.passed.map(({ method }) => method)).toContain('POST');
  });

  test.each<[string, Partial<CertificateRequest>, RegExp]>([
    [
      'of another name',
      { ipAddresses: [], dnsNames: ['keystone.example.org'] },
      /127\.0\.0\.1 is not in the cert's list/,
    ],
    ['that has expired', hours(-3, -2), /: certificate has expired$/],
    ['that is not valid yet', hours(1, 2), /: certificate is not yet valid$/],
  ])('with a certificate %s are told of', async (_, request, message) => {
    await expectUnavailable(request, cloud.authority.certPem, message);
  });

  test.each<[string, () => Promise<string>]>([
    ['nobody', async () => ''],
    ['another authority', async () => (await anAuthority()).certPem],
  ])('are told of where the Secret trusts %s', async (_, cacert) => {
    await expectUnavailable(
      {},
      await cacert(),
      /^POST https:.*: its certificate is not from a trusted authority \(.*\): put .* into key cacert of the Secret$/,
    );
  });

  async function expectUnavailable(
    request: Partial<CertificateRequest>,
    cacert: string,
    message: RegExp,
  ): Promise<void> {
    const { url } = await cloud.newKeystone(request);
    const operator = lab.operator({ cloudsYaml: tlsClouds(url, credential), cacert });
    const outcome = await lab.ensure(lab.newNetwork(), operator);
    expect(outcome).toMatchObject({ reason: 'ProviderUnavailable', message: expect.stringMatching(message) });
    expect(cloud.neutron.passed).toEqual([]);
  }
});

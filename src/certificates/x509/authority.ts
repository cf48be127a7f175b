// @peculiar/x509 asks for this polyfill to be loaded before it (its README, "Reflect Polyfill Required").
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonGeneralNames,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  type X509CertificateCreateWithKeyParams,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A certificate and its private key (PKCS#8), both PEM. */
export interface CertificateAndKey {
  readonly certPem: string;
  readonly keyPem: string;
}

/** The period in which a certificate is valid, including both ends. */
export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** The name and validity of a new authority. */
export interface AuthorityRequest extends Validity {
  readonly commonName: string;
}

/** The certificate that an authority signs. */
export interface CertificateRequest extends AuthorityRequest {
  /** The Kubernetes API server reads these as the groups of a client (`O=system:masters`). */
  readonly organization?: readonly string[];
  /** The names of a server. Go's TLS reads only these, never the common name. */
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly usage: 'server' | 'client';
}

const KEY_ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };
/** RFC 5280 4.2.1.3 requires these usages, marked critical. The path length below is 0: no further authorities. */
const AUTHORITY_USAGE = KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign;

/** Creates a self-signed authority with a new ECDSA P-256 key. */
export async function createAuthority({
  commonName,
  ...validity
}: AuthorityRequest): Promise<CertificateAndKey> {
  const keys = await generateKeys();
  const name = subject(commonName);
  const extensions = [
    new BasicConstraintsExtension(true, 0, true),
    new KeyUsagesExtension(AUTHORITY_USAGE, true),
    await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
  ];
  return signed(keys, { subject: name, issuer: name, signingKey: keys.privateKey, extensions, ...validity });
}

/** Issues a certificate with a new ECDSA P-256 key. Rejects if the authority's PEM cannot be read. */
export async function issueCertificate(
  authority: CertificateAndKey,
  request: CertificateRequest,
): Promise<CertificateAndKey> {
  const issuer = new X509Certificate(authority.certPem);
  const keys = await generateKeys();
  const der = PemConverter.decodeFirst(authority.keyPem);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', der, KEY_ALGORITHM, false, ['sign']);
  return signed(keys, {
    subject: subject(request.commonName, request.organization),
    issuer: issuer.subjectName,
    signingKey,
    extensions: await leafExtensions(issuer, keys, request),
    notBefore: request.notBefore,
    notAfter: request.notAfter,
  });
}

async function leafExtensions(
  issuer: X509Certificate,
  keys: webcrypto.CryptoKeyPair,
  request: CertificateRequest,
): Promise<Extension[]> {
  const usage = request.usage === 'server' ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth;
  const names: JsonGeneralNames = [
    ...(request.dnsNames ?? []).map((value) => ({ type: 'dns', value }) as const),
    ...(request.ipAddresses ?? []).map((value) => ({ type: 'ip', value }) as const),
  ];
  return [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([usage]),
    await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
    await AuthorityKeyIdentifierExtension.create(issuer.publicKey, false, webcrypto),
    ...(names.length > 0 ? [new SubjectAlternativeNameExtension(names)] : []),
  ];
}

// UTF8String objects, because the library decodes RFC 4514 escapes in plain strings.
function subject(commonName: string, organization: readonly string[] = []): Name {
  return new Name([
    ...organization.map((name) => ({ O: [{ utf8String: name }] })),
    { CN: [{ utf8String: commonName }] },
  ]);
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify']);
}

/** The certificate of these keys, signed with the signing key. */
async function signed(
  keys: webcrypto.CryptoKeyPair,
  content: Omit<X509CertificateCreateWithKeyParams, 'publicKey' | 'signingAlgorithm'>,
): Promise<CertificateAndKey> {
  const parameters = { ...content, publicKey: keys.publicKey, signingAlgorithm: SIGNATURE };
  const certificate = await X509CertificateGenerator.create(parameters, webcrypto);
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    certPem: `${certificate.toString('pem')}\n`,
    keyPem: `${PemConverter.encode(pkcs8, PemConverter.PrivateKeyTag)}\n`,
  };
}

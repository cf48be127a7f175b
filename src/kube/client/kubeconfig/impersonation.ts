import type { KubeUser } from './kubeconfig-types.ts';

/** What an HTTP header's name may hold, except `%`, by which the rest is escaped. */
const LEGAL = /[A-Za-z0-9!#$&'*+\-.^_`|~]/;

/** The headers by which a user acts as another one (client-go's transport/round_trippers.go); none where it does not. */
export function impersonationHeaders(user: KubeUser): Readonly<Record<string, string[]>> {
  const { impersonateUser, impersonateUid, impersonateGroups = [], impersonateExtra = {} } = user;
  if (!impersonateUser) return {};
  const extra = Object.entries(impersonateExtra).map(
    ([key, values]) => [`Impersonate-Extra-${escapeKey(key)}`, values.map(onWire)] as const,
  );
  return {
    'Impersonate-User': [onWire(impersonateUser)],
    ...(impersonateUid && { 'Impersonate-Uid': [onWire(impersonateUid)] }),
    ...(impersonateGroups.length > 0 && { 'Impersonate-Group': impersonateGroups.map(onWire) }),
    ...Object.fromEntries(extra),
  };
}

function escapeKey(key: string): string {
  const bytes = [...Buffer.from(key)];
  return bytes
    .map((byte) => (LEGAL.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : percent(byte)))
    .join('');
}

function percent(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}

/** The API server reads UTF-8, and the HTTP library writes one byte for each character. */
function onWire(value: string): string {
  return Buffer.from(value).toString('latin1');
}

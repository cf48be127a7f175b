import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Redactor } from '../../../../src/cli/bug-report/redact.ts';
import { redactText, redactValues } from '../../../../src/cli/bug-report/redact-text.ts';
import { ReportParts } from '../../../../src/cli/bug-report/report-parts.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { printBlock } from '../../../../src/util/yaml-edit/entries.ts';

const redactObject = (object: JsonObject) => new Redactor().object(object);
const redactTemplates = (object: JsonObject) => new Redactor().templates(object);

const SECRET = 'hunter2hunter2';
const JWT = `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.${SECRET}`;
const KEY = `-----BEGIN EC PRIVATE KEY-----\n${SECRET}\n-----END EC PRIVATE KEY-----`;

describe('an object', () => {
  test.each([
    ['data of a Secret', { kind: 'Secret', data: { password: SECRET }, stringData: { x: SECRET } }],
    ['an environment variable', { spec: { containers: [{ env: [{ name: 'A', value: SECRET }] }] } }],
    [
      'what kubectl last applied',
      { metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': SECRET } } },
    ],
    ['managedFields', { metadata: { managedFields: [{ a: SECRET }] } }],
    ['a field that is called token', { spec: { bootstrapToken: SECRET } }],
    ['a flag with a password', { args: [`--password=${SECRET}`, `--db-token ${SECRET}`] }],
    ['a flag whose value is the next item', { args: ['--password', SECRET, '--db-token', SECRET] }],
    [
      'an environment variable in CEL',
      { expression: `env: [Object.spec.containers.env{name: "A", value: "${SECRET}"}]` },
    ],
    [
      'an environment variable in CEL on several lines',
      { expression: `Object.spec.containers.env{\n  name: "A",\n  value: "a \\"quoted\\" ${SECRET}"\n}` },
    ],
    [
      'an environment variable in CEL whose value is first',
      { expression: `X.env{value: "${SECRET}", name: "A"}` },
    ],
    ['a header in CEL', { expression: `X.httpGet.httpHeaders{name: "X-Key", value: "${SECRET}"}` }],
    ['a private key', { data: { 'tls.key': KEY } }],
    [
      'a kubeconfig',
      { data: { config: `users:\n- user:\n    client-key-data: ${SECRET}\n    token: "${SECRET}"\n` } },
    ],
    ['JSON in an annotation', { metadata: { annotations: { a: `{"password":"${SECRET}"}` } } }],
    ['a token', { note: `failed with ${JWT}` }],
    ['keys of clouds', { accessKey: SECRET, args: [`AccountName=a;AccountKey=${SECRET}`] }],
    ['a key after its name', { args: [`SharedAccessKeyName=Root;SharedAccessKey=${SECRET}`] }],
    [
      'a header in one word',
      { command: [`--header=X-A: ${SECRET}`, `--header X-A: ${SECRET}`, `-HX-A: ${SECRET}`] },
    ],
    [
      'a header in a script',
      { command: ['sh', '-c', `curl -H"X-A: a ${SECRET}" "--header=X-A: a ${SECRET}"`] },
    ],
    ['a header after other flags', { command: [`curl -sSH 'X-A: ${SECRET}'`, '-sH', `X-A: ${SECRET}`] }],
    ['a password with @', { args: [`postgres://u:p@${SECRET}@h/db`, `u:${SECRET}@tcp(db:3306)/x`] }],
    [
      'a key of PGP',
      { a: `-----BEGIN PGP PRIVATE KEY BLOCK-----\n${SECRET}\n-----END PGP PRIVATE KEY BLOCK-----` },
    ],
    ['a block of YAML', { a: `password: |\n  ${SECRET}\n\n  ${SECRET}\nb: 1` }],
    ['a value on the next line of YAML', { a: `a:\n  password:\n    ${SECRET}\n  b: 1` }],
    [
      'a value of YAML with commas and quotes',
      { a: `a:\n  password: a,]'${SECRET}'\n  token: 'a''${SECRET}'` },
    ],
    [
      'YAML in a string of CEL',
      { a: `args: ["a: 1\\npassword: |\\n  ${SECRET}\\nb:\\n  value: ${SECRET}"]` },
    ],
    ['a password of Envoy', { a: `password:\n  inline_string: a,${SECRET}\n` }],
  ])('loses %s', (_, object) => {
    expect(JSON.stringify(redactObject(object))).not.toContain(SECRET);
  });

  test('keeps everything else', () => {
    const object = {
      kind: 'Pod',
      metadata: { name: 'a' },
      spec: {
        automountServiceAccountToken: true,
        imagePullSecrets: [{ name: 'registry' }],
        containers: [
          {
            name: 'a',
            args: ['serve', '--port=8443', '--token', '--verbose', '--token-file', '/token'],
            env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
          },
        ],
        volumes: [{ name: 'tls', secret: { secretName: 'envoy-initializer-tls' } }],
      },
    };
    expect(redactObject(object)).toEqual(object);
    expect(redactObject({ kind: 'Secret', data: { a: 'eA==' } })).toEqual({
      kind: 'Secret',
      data: { a: '<redacted>' },
    });
  });
});

test('a revision loses values of environment variables, in a template and in fields', () => {
  const env = [{ name: 'A', value: SECRET }];
  const revision = { kind: 'ControllerRevision', revision: 1 };
  const ofOperator = {
    ...revision,
    data: { config: `containers:\n- env:\n  - {name: A, value: ${SECRET}}\n` },
  };
  expect(redactTemplates(ofOperator)).toEqual({
    ...revision,
    data: { config: 'containers:\n- env:\n  - {name: A, value: <redacted>}\n' },
  });
  const ofDaemonSet = { ...revision, data: { spec: { template: { spec: { containers: [{ env }] } } } } };
  expect(redactTemplates(ofDaemonSet)).toEqual({
    ...revision,
    data: { spec: { template: { spec: { containers: [{ env: [{ name: 'A', value: '<redacted>' }] }] } } } },
  });
});

describe('a text', () => {
  test.each([
    `Authorization: Bearer ${SECRET}`,
    `{"msg":"x","token":"${SECRET}"}`,
    `{"body":"{\\"password\\":\\"${SECRET}\\"}"}`,
    `https://user:${SECRET}@example.com/`,
    `password='${SECRET}'`,
    `run --password "a ${SECRET}" --port 1`,
    `{"args":["--password","a ${SECRET}"]}`,
    `OS_PASSWORD=${SECRET}`,
    KEY,
    KEY.slice(0, 60),
    JWT,
  ])('loses its secret: %s', (text) => {
    expect(redactText(text)).not.toContain(SECRET);
  });

  test.each([
    '{"level":"info","msg":"pod decided","namespace":"web","name":"web-1","milliseconds":1.5}',
    'secretName: envoy-initializer-tls, imagePullSecrets: [{name: registry}]',
    'https://10.96.0.1:443/api',
    'JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{name: "envoy", image: "envoy:v1"}}',
  ])('stays: %s', (text) => {
    expect(redactText(text)).toBe(text);
  });
});

describe('a template', () => {
  test.each([
    `env:\n  - name: A\n    value: ${SECRET}\n  - name: B`,
    `env:\n  - value: ${SECRET}\n    name: A`,
    `env:\n  - name: A\n    value: |\n      x\n\n      ${SECRET}\n  - name: B`,
    `env:\n  - name: A\n    value: first\n      ${SECRET}\n`,
    `env: [{name: A, value: ${SECRET}}, {name: B, value: "${SECRET}"}]`,
    `{"containers":[{"env":[{"name":"A","value":"${SECRET}"}]}]}`,
    `args: ["--password", "${SECRET}"] # A`,
    `args:\n- --password\n- ${SECRET}\n- A`,
    `args:\n  - "--api-key=${SECRET}"\n  - A`,
    `containers: {faulty\nenv:\n- name: A\n  value: "${SECRET}"`,
  ])('loses values of environment variables: %s', (text) => {
    const redacted = redactValues(text);
    expect(redacted).not.toContain(SECRET);
    expect(redacted).toContain('A');
    expect(redacted).toContain('<redacted>');
  });

  test('keeps the objects of a policy', () => {
    const text =
      '{\n  path: "/spec/volumes/-",\n  value: Object.spec.volumes{\n    secret: Object.spec.volumes.secret{\n      secretName: "a"\n    }\n  }\n}';
    expect(redactValues(text)).toBe(text);
  });

  test('keeps everything else', () => {
    const text = 'containers:\n  - name: envoy\n    image: envoy:v1\n    args: ["--concurrency 4"]\n';
    expect(redactValues(text)).toBe(text);
  });
});

/** Names of credentials, as HTTP, programs and Kubernetes write them. */
const CREDENTIALS = [
  'Authorization',
  'Proxy-Authorization',
  'X-Vault-Token',
  'PRIVATE-TOKEN',
  'X-Amz-Security-Token',
  'Cookie',
  'Set-Cookie',
  'X-Api-Key',
  'apikey',
  'api_key',
  'X-Auth-Key',
  'X-Access-Key',
  'Ocp-Apim-Subscription-Key',
  'x-functions-key',
  'X-Shared-Secret',
  'client_secret',
  'DB_PASSWORD',
  'PGPASSWD',
  'passphrase',
  'db-pass',
  'sessionToken',
  'sig',
  'auth',
  'JSESSIONID',
  'id_jwt',
];
type Shape = (name: string, secret: string) => JsonObject;
const inSpec = (spec: JsonObject): JsonObject => ({ kind: 'HTTPRoute', metadata: { name: 'a' }, spec });
const log = (text: string): JsonObject => ({ log: text });
/** Shapes in which the value of any name is secret. */
const ANY_NAME: readonly Shape[] = [
  (name, value) => inSpec({ rules: [{ matches: [{ headers: [{ type: 'Exact', name, value }] }] }] }),
  (name, value) => inSpec({ rules: [{ matches: [{ queryParams: [{ value, name }] }] }] }),
  (name, value) =>
    inSpec({ filters: [{ requestHeaderModifier: { set: [{ name, value }], add: [{ name, value }] } }] }),
  (key, value) => inSpec({ match: { header: { key, value } }, append: [{ header: key, value }] }),
  (name, value) => inSpec({ env: [{ name, value }], httpHeaders: [{ name, value }] }),
  (name, value) => inSpec({ env: { [name]: value }, headers: { [name]: value }, params: { [name]: value } }),
  (name, value) =>
    inSpec({ env: [`${name}=${value}`], headers: [`${name}: ${value}`], args: ['-H', `${name}: ${value}`] }),
  (name, value) =>
    inSpec({ redirect: `https://a.example/b?x=1&${name}=${value}#c`, path: `/b?${name}=${value}` }),
  (name, value) => ({
    metadata: { annotations: { [`example.com/${name}`]: value, applied: JSON.stringify([{ name, value }]) } },
  }),
  (name, value) => ({
    metadata: {
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `{"${name}":"${value}"}` },
    },
  }),
  (name, value) => ({ kind: 'Secret', data: { [name]: value }, stringData: { [name]: value } }),
  (name, value) =>
    inSpec({
      config: JSON.stringify({ headers: [{ name, value }] }),
      more: `a:\n- name: ${name}\n  value: ${value}\n`,
    }),
  (name, value) => ({
    ...inSpec({ headers: [{ name, value }] }),
    status: { conditions: [{ message: `the expression "${value}" is wrong` }] },
  }),
  (name, value) =>
    log(JSON.stringify({ msg: 'x', error: { headers: { [name]: value }, pairs: [{ name, value }] } })),
  (name, value) =>
    log(
      `failed: env {name: "${name}", value: "${value}"}, GET https://a/b?${name}=${value} Invalid value: "${value}"`,
    ),
  (_, value) =>
    log(
      `https://${value.replaceAll('/', '_')}@a.example/ redis://:${value}@b https://u:${value}@c curl -u ${value} --user=a:${value}`,
    ),
];
/** Shapes in which it is if the name is that of a credential. */
const CREDENTIAL: readonly Shape[] = [
  (name, value) => inSpec({ [name]: value, list: { [name]: [value, { a: 1, name, values: [value] }] } }),
  (name, value) => ({
    metadata: { labels: { [name]: value }, annotations: { [`a.kubernetes.io/${name}`]: value } },
  }),
  (name, value) =>
    inSpec({
      args: [`--${name}=${value}`, `--${name}`, value],
      command: ['sh', '-c', `run --${name} ${value}; ${name}='${value}'`],
    }),
  (name, value) =>
    log(`refused ${name}: ${value}\n${name}=${value} "${name}":"${value}" {\\"${name}\\": \\"${value}\\"}`),
];

test('whatever is planted under the name of a credential, or in a pair, is nowhere in the archive', () => {
  const secret = fc
    .stringMatching(/^[A-Za-z0-9][A-Za-z0-9+/_.~-]{6,30}[A-Za-z0-9]$/)
    .filter((text) => /\d/.test(text));
  const anyName = fc.constantFrom(...CREDENTIALS, 'version', 'x-user', 'Accept');
  const planted = fc.oneof(
    fc.tuple(fc.constantFrom(...ANY_NAME), anyName, secret),
    fc.tuple(fc.constantFrom(...CREDENTIAL), fc.constantFrom(...CREDENTIALS), secret),
  );
  fc.assert(
    fc.property(fc.array(planted, { minLength: 1, maxLength: 6 }), (all) => {
      const [redactor, parts] = [new Redactor(), new ReportParts('a')];
      for (const [i, [shape, name, value]] of all.entries()) {
        const { log: text, ...object } = shape(name, value);
        parts.add(
          `${i}.log`,
          typeof text === 'string' ? redactor.text(text) : printBlock(redactor.object(object), false),
        );
      }
      const archive = parts.archive(0, (text) => redactor.everywhere(text)).toString();
      for (const [, , value] of all) expect(archive).not.toContain(value);
    }),
    { numRuns: 300 },
  );
});

test('what a header had is in no Event and no log, not even a part', () => {
  const redactor = new Redactor();
  const value = `${SECRET} ${'x'.repeat(80)}`;
  redactor.object(
    inSpec({ headers: [{ name: 'version', value }], env: [{ name: 'NAMESPACE', value: 'default' }] }),
  );
  expect(redactor.everywhere(`a "${value.slice(0, 64)}…" in default, ${value}`)).toBe(
    'a "<redacted>…" in default, <redacted>',
  );
});

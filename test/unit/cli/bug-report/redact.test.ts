import { describe, expect, test } from '@jest/globals';
import {
  redactObject,
  redactTemplate,
  redactTemplates,
  redactText,
} from '../../../../src/cli/bug-report/redact.ts';

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
    const redacted = redactTemplate(text);
    expect(redacted).not.toContain(SECRET);
    expect(redacted).toContain('A');
    expect(redacted).toContain('<redacted>');
  });

  test('keeps everything else', () => {
    const text = 'containers:\n  - name: envoy\n    image: envoy:v1\n    args: ["--concurrency 4"]\n';
    expect(redactTemplate(text)).toBe(text);
  });
});

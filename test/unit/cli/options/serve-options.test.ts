import { expect, test } from '@jest/globals';
import { Command } from 'commander';
import { ADD_ONS } from '../../../../src/addons/index.ts';
import {
  addServeOptions,
  type ServeOptions,
  unknownVariables,
} from '../../../../src/cli/options/serve-options.ts';

/** Parses as `serve` does. @throws commander's message instead of ending the process. */
function parse(...args: string[]): ServeOptions {
  const command = addServeOptions(
    new Command('serve').exitOverride().configureOutput({ writeErr: () => {} }),
    ADD_ONS,
  );
  return command.parse(args, { from: 'user' }).opts<ServeOptions>();
}

test.each([
  ['--resync=1h30m', { resync: 5_400_000 }],
  ['--resync=500ms', { resync: 500 }],
  ['--resync=0s', { resync: 0 }],
  ['--require-annotation=false', { requireAnnotation: false }],
  ['--require-annotation', { requireAnnotation: true }],
  ['--port=0', { port: 0 }],
  ['--master=https://10.0.0.1:6443', { master: 'https://10.0.0.1:6443' }],
  ['--network-largest=24,64', { networkLargest: { ipv4: 24, ipv6: 64 } }],
  ['--annotation=example.com/Side_car.v2', { annotation: 'example.com/Side_car.v2' }],
])('the options of serve accept %s', (arg, expected) => {
  expect(parse(arg)).toMatchObject(expected);
});

test.each([
  ['--resync=30', /duration such as 30s/],
  ['--resync=30s!', /duration such as 30s/],
  ['--resync=9999h', /duration such as 30s/],
  ['--port=65536', /port from 0 to 65535/],
  ['--port=https', /port from 0 to 65535/],
  ['--workers=0', /number from 1 to 1000/],
  ['--network-ranges=', /ranges such as 10.0.0.0\/8/],
  ['--network-ranges=10.0.0.1/8', /host bits set or is not in canonical form: use 10\.0\.0\.0\/8\./],
  ['--network-largest=16', /two prefix lengths.* such as 16,48/],
  ['--network-largest=33,48', /two prefix lengths.* such as 16,48/],
  ['--require-annotation=yes', /true or false/],
  ['--log-level=loud', /Use debug, info, warn or error\./],
  ['--master=10.0.0.1:6443', /URL such as/],
  ['--master=nonsense', /URL such as/],
  ['--namespace=My_Namespace', /lower-case/],
  ['--annotation=a/b/c', /label key such as/],
  ['--kubeconfig=', /must not be empty/],
  ['--nonsense', /unknown option '--nonsense'/],
])('the options of serve refuse %s, and say what to write instead', (arg, message) => {
  expect(() => parse(arg)).toThrow(message);
});

test('the options of serve read environment variables, which a flag overrides', () => {
  process.env.INITIALIZER_LOG_LEVEL = 'debug';
  try {
    expect(parse().logLevel).toBe('debug');
    expect(parse('--log-level=warn').logLevel).toBe('warn');
  } finally {
    delete process.env.INITIALIZER_LOG_LEVEL;
  }
});

test('the options of serve ignore the variables that Kubernetes sets for the Service of the operator', () => {
  process.env.ENVOY_INITIALIZER_PORT = 'tcp://10.96.249.153:443';
  try {
    expect(parse().port).toBe(8443);
  } finally {
    delete process.env.ENVOY_INITIALIZER_PORT;
  }
});

test('environment variables of serve that are no flag are named, with the likely right one', () => {
  const env = {
    INITIALIZER_LOGLEVEL: 'debug',
    INITIALIZER_LOG_LEVEL: 'info',
    INITIALIZER_COMPLETELY_ELSE: 'x',
    ENVOY_INITIALIZER_PORT: 'tcp://10.96.0.1:443',
    PATH: '/bin',
  };
  const { options } = addServeOptions(new Command(), []);
  expect(unknownVariables(env, options)).toEqual([
    'INITIALIZER_COMPLETELY_ELSE',
    'INITIALIZER_LOGLEVEL: did you mean INITIALIZER_LOG_LEVEL?',
  ]);
});

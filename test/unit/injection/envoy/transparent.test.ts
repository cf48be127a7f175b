import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ENVOY_FILES } from '../../../../src/injection/envoy/files.ts';
import { NO_ROUTES, ROUTES_DIRECTORY, ROUTES_FILE } from '../../../../src/injection/envoy/routed.ts';
import { parseTemplate } from '../../../../src/injection/template/parse-template.ts';
import { formatInText } from '../../../../src/util/diagnostic.ts';
import { isObject, own, ownObjects } from '../../../../src/util/json.ts';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { ENVOY_CONFIGURATIONS } from '../../../support/routing/envoy-configurations.ts';

const text = await readFile(join(projectDirectory(), 'deploy/transparent/template.yaml'), 'utf8');
const parsed = parseTemplate('config.transparent', 'transparent', text);
const template = 'template' in parsed ? parsed.template : undefined;
const [capture, envoy] = template?.initContainers ?? [];

test('the template is valid, and its one warning is about the capability that it needs', () => {
  expect('advice' in parsed ? parsed.advice.map(formatInText) : parsed).toEqual([
    'config.transparent:3:1: not injected in namespaces that enforce baseline pod security: container envoy-capture must not add the capability NET_ADMIN',
  ]);
});

test('its containers read files of the ConfigMap', () => {
  const paths = [capture?.command, envoy?.args].flat().map(String);
  const files = paths.flatMap((path) => /^\/etc\/envoy\/(.*)$/.exec(path)?.[1] ?? []);
  expect(files).toEqual(['capture.sh', 'transparent.json']);
  expect(Object.keys(ENVOY_FILES)).toEqual(expect.arrayContaining(files));
});

test('its Envoy finds a file of routes, which has none until envoy-routes is there', () => {
  const [mount] = [envoy?.volumeMounts]
    .flat()
    .filter((each) => isObject(each) && each.mountPath === ROUTES_DIRECTORY);
  expect(mount).toMatchObject({ name: 'envoy-routes' });
  const items = [{ key: 'no-routes', path: ROUTES_FILE }];
  expect(template?.volumes).toContainEqual({
    name: 'envoy-routes',
    // Of two sources with one file, the kubelet takes the last.
    projected: {
      sources: [
        { configMap: { name: 'envoy', items } },
        { configMap: { name: 'envoy-routes', optional: true } },
      ],
    },
  });
  expect(ENVOY_FILES['no-routes']).toBe(NO_ROUTES);
});

test('its Envoy runs as the user that the rules exempt', () => {
  const [, user] = /PROXY_UID:-(\d+)/.exec(ENVOY_FILES['capture.sh'] ?? '') ?? [];
  expect(envoy?.securityContext).toMatchObject({ runAsUser: Number(user) });
});

test('deploy/envoy creates the ConfigMap from the same files', async () => {
  const kustomization = await readFile(join(projectDirectory(), 'deploy/envoy/kustomization.yaml'), 'utf8');
  const files = [...kustomization.matchAll(/^ {2}- (\S+)$/gm)].map(([, name]) => name);
  expect(files.toSorted()).toEqual(Object.keys(ENVOY_FILES).toSorted());
});

test('the three configurations share all but what is about the application', () => {
  const common = Object.entries(ENVOY_CONFIGURATIONS).map(
    ([, { admin, overload_manager, stats_config, ...rest }]) => {
      const listeners = ownObjects(own(rest, 'static_resources'), 'listeners');
      return {
        admin,
        overload_manager,
        stats_config,
        metrics: listeners.find(({ name }) => name === 'metrics'),
      };
    },
  );
  for (const each of common) expect(each).toEqual(common[0]);
  expect(common[0]?.metrics).toBeDefined();
});

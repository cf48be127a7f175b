import { expect, test } from '@jest/globals';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import { LiveTemplates } from '../../../../src/injection/webhook/live-templates.ts';
import type { DryRunResult } from '../../../../src/injection/webhook/template-dry-run.ts';
import type { ConfigMap } from '../../../../src/kube/api/core-resources.ts';
import { formatInText, textError } from '../../../../src/util/diagnostic.ts';
import { withMisfit } from '../../../support/injection/demo.ts';

type TemplateConfigMap = Pick<ConfigMap, 'data'>;

const withImage = (image: string): TemplateConfigMap => ({
  data: { config: `containers: [{name: envoy, image: "${image}"}]` },
});
const imageOf = (set: TemplateSet | undefined) => set?.templates.get('config')?.containers[0]?.image;
const FAULT = textError('config', 'refused');

/** Verdicts by the image of the template: good, unless another one is set. */
function setUp() {
  const events: string[] = [];
  const verdicts = new Map<unknown, 'bad' | 'doubtful' | 'misfit' | Promise<void>>();
  let current: TemplateConfigMap | undefined;
  const live = new LiveTemplates({
    configMap: 'operator/template',
    current: () => current,
    dryRun: {
      async prove(set): Promise<DryRunResult> {
        const verdict = verdicts.get(imageOf(set));
        await verdict;
        return {
          set: verdict === 'misfit' ? withMisfit(set) : set,
          faults: verdict === 'bad' ? [FAULT] : [],
          inconclusive: verdict === 'doubtful' ? ['no answer'] : [],
        };
      },
    },
    observer: {
      adopted: (set) => events.push(`adopted ${imageOf(set)}`),
      strategyChanged: () => events.push('another strategy'),
      rejected: (faults, staying) =>
        events.push(`rejected, staying ${imageOf(staying)}: ${faults.map(formatInText)}`),
      warned: (warnings) => events.push(...warnings),
    },
  });
  const { signal } = new AbortController();
  const again = () => live.reconcile(signal);
  const seen = (configMap: TemplateConfigMap | undefined) => {
    current = configMap;
    live.changed();
    return again();
  };
  const image = () => ('set' in live.state ? imageOf(live.state.set) : live.state.fault);
  return { live, verdicts, events, image, seen, again };
}

test('LiveTemplates adopts a template that is proved, and is settled then', async () => {
  const { live, events, verdicts, image, seen } = setUp();
  expect(live.isSettled).toBe(true);
  const { promise, resolve } = Promise.withResolvers<void>();
  verdicts.set('one', promise);
  const proof = seen(withImage('one'));
  expect(live.isSettled).toBe(false);
  expect(image()).toBe('ConfigMap operator/template has not been read yet');
  resolve();
  expect(await proof).toEqual({});
  expect(live.isSettled).toBe(true);
  expect(events).toEqual(['adopted one']);
});

test('LiveTemplates keeps the last good template while the API server refuses the current one', async () => {
  const { verdicts, events, image, seen } = setUp();
  await seen(withImage('one'));
  verdicts.set('two', 'bad');
  await seen(withImage('two'));
  expect(events).toEqual(['adopted one', 'rejected, staying one: config: refused']);
  expect(image()).toBe('one');
});

test('LiveTemplates adopts a template that the API server accepts later, and reports a refusal once', async () => {
  const { events, verdicts, seen, again } = setUp();
  verdicts.set('one', 'bad');
  expect(await seen(withImage('one'))).toEqual({ requeueAfterMs: 2_000 });
  expect(await again()).toEqual({ requeueAfterMs: 4_000 });
  for (let i = 0; i < 20; i++) await again();
  expect(await again()).toEqual({ requeueAfterMs: 300_000 });
  verdicts.delete('one');
  expect(await again()).toEqual({});
  expect(events).toEqual(['rejected, staying undefined: config: refused', 'adopted one']);
});

test('LiveTemplates proves the template in use again, and keeps it if there is nothing else', async () => {
  const { events, verdicts, image, seen, again } = setUp();
  await seen(withImage('one'));
  verdicts.set('one', 'bad');
  await again();
  expect(events).toEqual(['adopted one', 'rejected, staying one: config: refused']);
  expect(image()).toBe('one');
});

test('LiveTemplates keeps the last good template while the proof lasts, and drops an outdated proof', async () => {
  const { events, verdicts, image, seen } = setUp();
  await seen(withImage('one'));
  const { promise, resolve } = Promise.withResolvers<void>();
  verdicts.set('two', promise);
  const outdated = seen(withImage('two'));
  expect(image()).toBe('one');
  await seen(withImage('three'));
  resolve();
  expect(await outdated).toEqual({});
  expect(events).toEqual(['adopted one', 'adopted three']);
});

test('LiveTemplates adopts a template that cannot be proved, and proves it again', async () => {
  const { events, verdicts, seen, again } = setUp();
  verdicts.set('one', 'doubtful');
  expect(await seen(withImage('one'))).toEqual({ requeueAfterMs: 2_000 });
  await again();
  expect(events).toEqual(['adopted one', 'template dry run inconclusive: no answer']);
  verdicts.set('one', 'bad');
  await again();
  expect(events.at(-1)).toBe('rejected, staying undefined: config: refused');
});

test('LiveTemplates returns to the last proved template if an unproved one is refused later', async () => {
  const { verdicts, events, image, seen, again } = setUp();
  await seen(withImage('one'));
  verdicts.set('two', 'doubtful');
  await seen(withImage('two'));
  expect(image()).toBe('two');
  verdicts.set('two', 'bad');
  await again();
  expect(events.at(-1)).toBe('rejected, staying one: config: refused');
  expect(image()).toBe('one');
});

test('LiveTemplates ignores a new comment and a resync, and follows another strategy', async () => {
  const { events, seen } = setUp();
  const { data } = withImage('one');
  for (const more of [{}, {}, { config: `# edited\n${data?.config}` }, { rollout: 'mode: in-place' }])
    await seen({ data: { ...data, ...more } });
  expect(events).toEqual(['adopted one', 'another strategy']);
});

test.each<[string, TemplateConfigMap | undefined, string]>([
  ['is invalid', withImage(''), 'config:1:28: containers[0].image: required: set the image to run'],
  ['is deleted', undefined, 'ConfigMap operator/template does not exist: create it with the key config'],
])(
  'LiveTemplates keeps the last valid template while the ConfigMap %s, and recovers',
  async (_, configMap, fault) => {
    const { events, image, seen } = setUp();
    await seen(withImage('one'));
    await seen(configMap);
    expect(image()).toBe('one');
    await seen(withImage('one'));
    expect(events).toEqual(['adopted one', `rejected, staying one: ${fault}`, 'adopted one']);
  },
);

test('LiveTemplates changes when pods of another shape do not fit', async () => {
  const { live, verdicts, seen, again } = setUp();
  await seen(withImage('one'));
  verdicts.set('one', 'misfit');
  await again();
  const { set } = 'set' in live.state ? live.state : {};
  const shapes = set?.templates.get('config')?.incompatibleShapes.map(({ shape }) => shape.name);
  expect(shapes).toEqual(['spec.restartPolicy: Never']);
});

import { expect, test } from '@jest/globals';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import { LiveTemplates, type TemplateConfigMap } from '../../../../src/injection/webhook/live-templates.ts';
import type { DryRunResult } from '../../../../src/injection/webhook/template-dry-run.ts';
import { formatInText, textError } from '../../../../src/util/diagnostic.ts';
import { withMisfit } from '../../../support/injection/demo.ts';
import { untilTrue } from '../../../support/time/until-true.ts';

const withImage = (image: string): TemplateConfigMap => ({
  data: { config: `containers: [{name: envoy, image: "${image}"}]` },
});
const imageOf = (set: TemplateSet | undefined) => set?.templates.get('config')?.containers[0]?.image;
const FAULT = textError('config', 'refused');

/** Verdicts by the image of the template: good, bad, or unknown until it is set. */
function setUp() {
  const events: string[] = [];
  const verdicts = new Map<unknown, 'bad' | 'slow' | 'doubtful' | 'misfit'>();
  const proofs: (() => void)[] = [];
  const live = new LiveTemplates({
    configMap: 'operator/template',
    dryRun: {
      async prove(set): Promise<DryRunResult> {
        const verdict = verdicts.get(imageOf(set));
        events.push(`proof of ${imageOf(set)}`);
        if (verdict === 'slow') await new Promise<void>((resolve) => proofs.push(resolve));
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
    retryMs: 1,
  });
  const stop = new AbortController();
  const running = live.run(stop.signal);
  const end = async () => {
    stop.abort();
    for (const proof of proofs) proof();
    await running;
  };
  const until = (event: string) => untilTrue(async () => events.includes(event) || stop.signal.aborted);
  const image = () => ('set' in live.state ? imageOf(live.state.set) : live.state.fault);
  return { live, verdicts, events, proofs, image, until, end };
}

test('LiveTemplates adopts a template that is proved, and is settled then', async () => {
  const { live, events, verdicts, proofs, image, until, end } = setUp();
  expect(live.isSettled).toBe(true);
  verdicts.set('one', 'slow');
  live.seen(withImage('one'));
  await until('proof of one');
  expect(live.isSettled).toBe(false);
  expect(image()).toBe('ConfigMap operator/template has not been read yet');
  proofs[0]?.();
  await until('adopted one');
  expect(live.isSettled).toBe(true);
  await end();
  expect(events).toEqual(['proof of one', 'adopted one']);
});

test('LiveTemplates keeps the last good template while the API server refuses the current one', async () => {
  const { live, verdicts, image, until, end } = setUp();
  live.seen(withImage('one'));
  await until('adopted one');
  verdicts.set('two', 'bad');
  live.seen(withImage('two'));
  await until('rejected, staying one: config: refused');
  expect(image()).toBe('one');
  await end();
});

test('LiveTemplates adopts a template that the API server accepts later, and reports a refusal once', async () => {
  const { live, events, verdicts, until, end } = setUp();
  verdicts.set('one', 'bad');
  live.seen(withImage('one'));
  await untilTrue(async () => events.filter((event) => event === 'proof of one').length > 2);
  verdicts.delete('one');
  await until('adopted one');
  await end();
  const verdictsSeen = events.filter((event) => !event.startsWith('proof'));
  expect(verdictsSeen).toEqual(['rejected, staying undefined: config: refused', 'adopted one']);
});

test('LiveTemplates proves the template in use again, and keeps it if there is nothing else', async () => {
  const { live, verdicts, image, until, end } = setUp();
  live.seen(withImage('one'));
  await until('adopted one');
  verdicts.set('one', 'bad');
  live.again();
  await until('rejected, staying one: config: refused');
  expect(image()).toBe('one');
  await end();
});

test('LiveTemplates keeps the last good template while the proof lasts, and drops an outdated proof', async () => {
  const { live, events, verdicts, proofs, image, until, end } = setUp();
  live.seen(withImage('one'));
  await until('adopted one');
  verdicts.set('two', 'slow');
  live.seen(withImage('two'));
  await until('proof of two');
  live.seen(withImage('three'));
  expect(image()).toBe('one');
  proofs[0]?.();
  await until('adopted three');
  await end();
  expect(events).not.toContain('adopted two');
});

test('LiveTemplates adopts a template that cannot be proved, and proves it again', async () => {
  const { live, events, verdicts, until, end } = setUp();
  verdicts.set('one', 'doubtful');
  live.seen(withImage('one'));
  await untilTrue(async () => events.filter((event) => event === 'proof of one').length > 2);
  const warning = 'template dry run inconclusive: no answer';
  expect(events.filter((event) => !event.startsWith('proof'))).toEqual(['adopted one', warning]);
  verdicts.set('one', 'bad');
  await until('rejected, staying undefined: config: refused');
  await end();
});

test('LiveTemplates returns to the last proved template if an unproved one is refused later', async () => {
  const { live, verdicts, image, until, end } = setUp();
  live.seen(withImage('one'));
  await until('adopted one');
  verdicts.set('two', 'doubtful');
  live.seen(withImage('two'));
  await until('adopted two');
  verdicts.set('two', 'bad');
  await until('rejected, staying one: config: refused');
  expect(image()).toBe('one');
  await end();
});

test('LiveTemplates ignores a new comment and a resync, and follows another strategy', async () => {
  const { live, events, until, end } = setUp();
  const [{ data }] = [withImage('one')];
  for (const more of [{}, {}, { config: `# edited\n${data?.config}` }, { rollout: 'mode: in-place' }]) {
    const before = events.length;
    live.seen({ data: { ...data, ...more } });
    await untilTrue(async () => events.length > before);
  }
  await until('another strategy');
  await end();
  expect(events.filter((event) => !event.startsWith('proof'))).toEqual(['adopted one', 'another strategy']);
});

test.each<[string, TemplateConfigMap | undefined, string]>([
  ['is invalid', withImage(''), 'config:1:28: containers[0].image: required: set the image to run'],
  ['is deleted', undefined, 'ConfigMap operator/template does not exist: create it with the key config'],
])(
  'LiveTemplates keeps the last valid template while the ConfigMap %s, and recovers',
  async (_, configMap, fault) => {
    const { live, events, image, until, end } = setUp();
    live.seen(withImage('one'));
    await until('adopted one');
    live.seen(configMap);
    await until(`rejected, staying one: ${fault}`);
    expect(image()).toBe('one');
    live.seen(withImage('one'));
    await untilTrue(async () => events.filter((event) => event === 'adopted one').length === 2);
    await end();
  },
);

test('LiveTemplates changes when pods of another shape do not fit', async () => {
  const { live, verdicts, until, end } = setUp();
  live.seen(withImage('one'));
  await until('adopted one');
  verdicts.set('one', 'misfit');
  live.again();
  const shapes = () =>
    'set' in live.state
      ? [...live.state.set.templates.values()].flatMap(({ incompatibleShapes }) => incompatibleShapes)
      : [];
  await untilTrue(async () => shapes().length > 0);
  expect(shapes().map(({ shape }) => shape.name)).toEqual(['spec.restartPolicy: Never']);
  await end();
});

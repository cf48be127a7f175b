import { describe, expect, test } from '@jest/globals';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import { LiveTemplates, type TemplateConfigMap } from '../../../../src/injection/webhook/live-templates.ts';
import { TemplateAdoption } from '../../../../src/injection/webhook/template-adoption.ts';
import type { DryRunResult } from '../../../../src/injection/webhook/template-dry-run.ts';
import { formatInText, textError } from '../../../../src/util/diagnostic.ts';
import { untilTrue } from '../../../support/time/until-true.ts';

const withImage = (image: string): TemplateConfigMap => ({
  data: { config: `containers: [{name: envoy, image: "${image}"}]` },
});
const imageOf = (set: TemplateSet | undefined) => set?.templates.get('config')?.containers[0]?.image;
const FAULT = textError('config', 'refused');

/** Verdicts by the image of the template: good, bad, or unknown until it is set. */
function setUp() {
  const events: string[] = [];
  const verdicts = new Map<unknown, 'bad' | 'slow' | 'doubtful'>();
  const proofs: (() => void)[] = [];
  const templates = new LiveTemplates(
    {
      adopted: (set) => events.push(`adopted ${imageOf(set)}`),
      rejected: (faults, staying) =>
        events.push(`rejected, staying ${imageOf(staying)}: ${faults.map(formatInText)}`),
    },
    'operator/template',
  );
  const adoption = new TemplateAdoption({
    templates,
    dryRun: {
      async prove(set): Promise<DryRunResult> {
        const verdict = verdicts.get(imageOf(set));
        events.push(`proof of ${imageOf(set)}`);
        if (verdict === 'slow') await new Promise<void>((resolve) => proofs.push(resolve));
        return {
          set,
          faults: verdict === 'bad' ? [FAULT] : [],
          inconclusive: verdict === 'doubtful' ? ['no answer'] : [],
        };
      },
    },
    warned: (warnings) => events.push(...warnings),
    retryMs: 1,
  });
  const stop = new AbortController();
  const running = adoption.run(stop.signal);
  const end = async () => {
    stop.abort();
    for (const proof of proofs) proof();
    await running;
  };
  const until = (event: string) => untilTrue(async () => events.includes(event) || stop.signal.aborted);
  const image = () => ('set' in templates.state ? imageOf(templates.state.set) : templates.state.fault);
  return { adoption, verdicts, events, proofs, image, until, end };
}

describe('TemplateAdoption', () => {
  test('adopts what is proved, and is settled then', async () => {
    const { adoption, events, verdicts, proofs, image, until, end } = setUp();
    expect(adoption.isSettled).toBe(true);
    verdicts.set('one', 'slow');
    adoption.seen(withImage('one'));
    await until('proof of one');
    expect(adoption.isSettled).toBe(false);
    expect(image()).toBe('ConfigMap operator/template is not read yet');
    proofs[0]?.();
    await until('adopted one');
    expect(adoption.isSettled).toBe(true);
    await end();
    expect(events).toEqual(['proof of one', 'adopted one']);
  });

  test('keeps the last good one while the API server refuses the current one', async () => {
    const { adoption, verdicts, image, until, end } = setUp();
    adoption.seen(withImage('one'));
    await until('adopted one');
    verdicts.set('two', 'bad');
    adoption.seen(withImage('two'));
    await until('rejected, staying one: config: refused');
    expect(image()).toBe('one');
    await end();
  });

  test('adopts what the API server accepts later, and reports a refusal once', async () => {
    const { adoption, events, verdicts, until, end } = setUp();
    verdicts.set('one', 'bad');
    adoption.seen(withImage('one'));
    await untilTrue(async () => events.filter((event) => event === 'proof of one').length > 2);
    verdicts.delete('one');
    await until('adopted one');
    await end();
    const verdictsSeen = events.filter((event) => !event.startsWith('proof'));
    expect(verdictsSeen).toEqual(['rejected, staying undefined: config: refused', 'adopted one']);
  });

  test('proves what is in use again, and keeps it if there is nothing else', async () => {
    const { adoption, verdicts, image, until, end } = setUp();
    adoption.seen(withImage('one'));
    await until('adopted one');
    verdicts.set('one', 'bad');
    adoption.again();
    await until('rejected, staying one: config: refused');
    expect(image()).toBe('one');
    await end();
  });

  test('keeps the last good one while the proof lasts, and drops a proof that is out of date', async () => {
    const { adoption, events, verdicts, proofs, image, until, end } = setUp();
    adoption.seen(withImage('one'));
    await until('adopted one');
    verdicts.set('two', 'slow');
    adoption.seen(withImage('two'));
    await until('proof of two');
    adoption.seen(withImage('three'));
    expect(image()).toBe('one');
    proofs[0]?.();
    await until('adopted three');
    await end();
    expect(events).not.toContain('adopted two');
  });

  test('adopts what cannot be proved, and proves it again', async () => {
    const { adoption, events, verdicts, until, end } = setUp();
    verdicts.set('one', 'doubtful');
    adoption.seen(withImage('one'));
    await untilTrue(async () => events.filter((event) => event === 'proof of one').length > 2);
    const warning = 'the API server could not test the templates: no answer';
    expect(events.filter((event) => !event.startsWith('proof'))).toEqual(['adopted one', warning]);
    verdicts.set('one', 'bad');
    await until('rejected, staying undefined: config: refused');
    await end();
  });

  test('returns to the last proved one if one that it could not prove is refused later', async () => {
    const { adoption, verdicts, image, until, end } = setUp();
    adoption.seen(withImage('one'));
    await until('adopted one');
    verdicts.set('two', 'doubtful');
    adoption.seen(withImage('two'));
    await until('adopted two');
    verdicts.set('two', 'bad');
    await until('rejected, staying one: config: refused');
    expect(image()).toBe('one');
    await end();
  });
});

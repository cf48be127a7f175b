import { expect, test } from '@jest/globals';
import { Changes } from '../../../../../src/addons/routes/delivery/live-compilation.ts';
import { FakeClock } from '../../../../support/time/fake-clock.ts';

function setUp() {
  const [clock, stop] = [new FakeClock(), new AbortController()];
  const changes = new Changes(clock);
  const handled: number[] = [];
  const running = changes.run(async () => void handled.push(clock.now()), stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  return { clock, changes, handled, end };
}

test('are handled once, when there were none for 50 ms', async () => {
  const { clock, changes, handled, end } = setUp();
  changes.mark();
  await clock.advanceAsync(30);
  changes.mark();
  await clock.advanceAsync(500);
  expect(handled).toEqual([100]);
  await end();
});

test('are handled after a second though there are more', async () => {
  const { clock, changes, handled, end } = setUp();
  for (let ms = 0; ms < 1100; ms += 20) {
    changes.mark();
    await clock.advanceAsync(20);
  }
  expect(handled).toEqual([1000]);
  await end();
});

import type { OperatorFixture } from '../operator/operator-fixture.ts';
import type { NeutronLab } from './neutron-lab.ts';

/** The operator dies as soon as Neutron has its nth write (from 0), and never hears of it. Resolves when it has. */
function deathAt(n: number, { proxy }: NeutronLab, { operator }: OperatorFixture): Promise<true> {
  let writes = 0;
  return new Promise((resolve) => {
    proxy.mishap = ({ method }) => {
      if (method === 'GET' || writes++ !== n) return undefined;
      process.kill(operator.process.pid, 'SIGKILL');
      resolve(true);
      return { kind: 'unanswered' };
    };
  });
}

/** Does the step for one after the other, with a death at a later write each, until none comes to it. Returns the number of writes. */
export async function atEachWrite(
  lab: NeutronLab,
  fixture: OperatorFixture,
  step: (n: number) => Promise<unknown>,
): Promise<number> {
  for (let n = 0; ; n++) {
    lab.proxy.heal();
    const death = deathAt(n, lab, fixture);
    const done = step(n);
    const hasDied = await Promise.race([death, done.then(() => false)]);
    lab.proxy.heal();
    if (!hasDied) return n;
    await fixture.operator.restart();
    await done;
  }
}

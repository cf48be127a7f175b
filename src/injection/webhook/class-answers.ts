import type { DecideInput, DecideOptions } from '../decision-input.ts';
import { inject } from '../inject.ts';
import { type PodClassifier, podClassifier } from '../pod-class.ts';
import type { TemplateSet } from '../template/template-set.ts';
import { answerTo, type InjectionAnswer } from './injection-answer.ts';

/** More answers are not remembered: each holds a few kB. */
const MOST_CLASSES = 64;

/** The answers for the classes of pods, for as long as their templates are in use. */
interface Known {
  readonly classOf: PodClassifier;
  readonly answers: Map<number, InjectionAnswer>;
}

/** Returns a function that answers for each pod as for the first one of its class. */
export function answerByClass(
  decide: DecideOptions,
): (input: Omit<DecideInput, 'options'>) => InjectionAnswer {
  const bySet = new WeakMap<TemplateSet, Known>();
  const knownOf = (set: TemplateSet): Known => {
    const known = bySet.get(set) ?? { classOf: podClassifier(set, decide), answers: new Map() };
    bySet.set(set, known);
    return known;
  };
  return (input) => {
    const known = 'set' in input.state ? knownOf(input.state.set) : undefined;
    const found = known?.classOf(input);
    const earlier = found === undefined ? undefined : known?.answers.get(found);
    if (earlier) return earlier;
    const answer = answerTo(inject({ ...input, options: decide }));
    if (known && found !== undefined && answer.decision === 'injected') {
      Object.freeze(answer.operations);
      remember(known.answers, found, answer);
    }
    return answer;
  };
}

/** Forgets the oldest answer if there are too many. Otherwise odd pods of one user could keep out the pods of all others. */
function remember(answers: Map<number, InjectionAnswer>, found: number, answer: InjectionAnswer): void {
  const [oldest] = answers.keys();
  if (answers.size >= MOST_CLASSES && oldest !== undefined) answers.delete(oldest);
  answers.set(found, answer);
}

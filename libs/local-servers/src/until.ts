import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";

const LIMIT_MS = 60_000;
const INTERVAL_MS = 10;
const LONGEST_INTERVAL_MS = 100;
/** An interval is at most this part of the time waited so far, so that a wait takes hardly longer and polling costs little processor time. */
const PART_OF_WAIT = 1 / 8;

/**
 * Meant for tests, where no event announces the awaited state: polls until the answer fits (default: until it is neither false nor null nor
 * undefined), every `intervalMs` or by default first every 10 ms and then less often, and returns it. After `timeoutMs`, a minute, it rejects with the text
 * of the condition and the last answer. An error of `ask` is passed on.
 */
export async function until<T>(
  ask: () => T | Promise<T>,
): Promise<Exclude<T, false | null | undefined>>;
export async function until<T>(
  ask: () => T | Promise<T>,
  fits: (answer: T) => boolean,
  options?: { timeoutMs?: number; intervalMs?: number },
): Promise<T>;
export async function until<T>(
  ask: () => T | Promise<T>,
  fits: (answer: T) => boolean = isAnswer,
  { timeoutMs = LIMIT_MS, intervalMs }: { timeoutMs?: number; intervalMs?: number } = {},
): Promise<T> {
  const over = Promise.withResolvers<typeof OVER>();
  const timer = setTimeout(() => over.resolve(OVER), timeoutMs);
  const began = performance.now();
  let last: unknown = OVER;
  try {
    for (;;) {
      const answer = await Promise.race([ask(), over.promise]);
      if (answer === OVER) break;
      if (fits(answer)) return answer;
      last = answer;
      if ((await Promise.race([delay(intervalMs ?? growing(began)), over.promise])) === OVER) break;
    }
  } finally {
    clearTimeout(timer);
  }
  const question = (fits === isAnswer ? [ask] : [ask, fits]).map(String).join(", ");
  const shown = last === OVER ? "no answer" : `the last answer was ${text(last)}`;
  throw new Error(`waited ${timeoutMs / 1000} s for ${question}; ${shown}`);
}

const OVER = Symbol("over");

function growing(began: number): number {
  const share = (performance.now() - began) * PART_OF_WAIT;
  return Math.min(Math.max(share, INTERVAL_MS), LONGEST_INTERVAL_MS);
}

function text(answer: unknown): string {
  return inspect(answer, { depth: 6, breakLength: Number.POSITIVE_INFINITY });
}

function isAnswer(answer: unknown): boolean {
  return answer !== false && answer !== null && answer !== undefined;
}

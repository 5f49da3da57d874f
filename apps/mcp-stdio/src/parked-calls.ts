import { setTimeout as delay } from "node:timers/promises";
import type { OpenQuestion } from "./backend.ts";

/** The first questions are read after this time, in milliseconds: most calls end before. */
const LOOK_EVERY_MS = 1_000;
/** A result that no request waits for is stored this long, in milliseconds. */
const UNCLAIMED_MS = 5 * 60_000;
/** The clocks of this machine and the broker's may differ by this, in milliseconds. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * Calls during which an MCP server asks a person something. The client gets the question at once, since it cannot show a form, and the same
 * call made again gets the result of the call that is under way.
 */
export function createParkedCalls<T>(lookEveryMs = LOOK_EVERY_MS) {
  const parked = new Map<string, Promise<T>>();
  const reported = new Set<string>();

  /** Resolves with a question that the server asks during the call; with null when the call has ended. */
  const questionDuring = async (
    call: Promise<T>,
    read: () => Promise<readonly OpenQuestion[]>,
  ): Promise<OpenQuestion | null> => {
    const since = Date.now() - CLOCKS_DIFFER_MS;
    const isOver = call.then(
      () => true,
      () => true,
    );
    for (;;) {
      if (await Promise.race([isOver, delay(lookEveryMs, false, { ref: false })])) return null;
      // The call itself returns a failure of its provider.
      const questions = await read().catch(() => []);
      const found = questions.find(
        ({ id, askedAt }) => !reported.has(id) && Date.parse(askedAt) > since,
      );
      if (found !== undefined) return found;
    }
  };

  const park = (key: string, call: Promise<T>): void => {
    const forget = (): void => void (parked.get(key) === call && parked.delete(key));
    parked.set(key, call);
    const expire = (): void => void setTimeout(forget, UNCLAIMED_MS).unref();
    call.then(expire, expire);
  };

  return {
    /** Makes a call, or waits for an equal one that is under way. Resolves with its result, or with the question that its server asks. */
    async make(
      key: string,
      begin: () => Promise<T>,
      read: () => Promise<readonly OpenQuestion[]>,
    ): Promise<{ readonly result: T } | { readonly question: OpenQuestion }> {
      const call = parked.get(key) ?? begin();
      parked.delete(key);
      const question = await questionDuring(call, read);
      if (question === null) return { result: await call };
      reported.add(question.id);
      park(key, call);
      return { question };
    },
  };
}

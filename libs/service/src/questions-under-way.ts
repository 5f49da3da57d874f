/** Questions that have no answer yet, by what they ask. */
export interface QuestionsUnderWay {
  /** Resolves when the last equal question has its answer or has failed, never rejects; null when none is under way. */
  find(key: string): Promise<void> | null;
  /** Asks. Whoever waits for the answer goes on after `question` has resolved, so it is to store what they look for. */
  ask<T>(key: string, question: () => Promise<T>): Promise<T>;
}

/** For answers that serve more than who asked: many that need one at the same moment can wait for the first. */
export function createQuestionsUnderWay(): QuestionsUnderWay {
  const asking = new Map<string, Promise<void>>();
  return {
    find: (key) => asking.get(key) ?? null,
    async ask(key, question) {
      const answer = question();
      const ended = answer.then(
        () => undefined,
        () => undefined,
      );
      asking.set(key, ended);
      try {
        return await answer;
      } finally {
        if (asking.get(key) === ended) asking.delete(key);
      }
    },
  };
}

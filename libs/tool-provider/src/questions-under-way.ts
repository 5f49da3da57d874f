/** Requests that have no answer yet, by their key. */
export interface QuestionsUnderWay {
  /** Resolves when the last equal request has its answer or has failed, never rejects; null when none is under way. */
  find(key: string): Promise<void> | null;
  /**
   * Sends the request. A caller that waits for the answer continues after `question` has resolved, so `question` has to store what the
   * caller looks for.
   */
  ask<T>(key: string, question: () => Promise<T>): Promise<T>;
}

/** Meant for answers that serve more than one caller: many that need one at the same moment can wait for the first. */
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

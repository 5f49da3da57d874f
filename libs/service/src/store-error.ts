/** Redis did not answer, or holds what cannot be read. Whether a write happened is unknown. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}

/** The answer of Redis. Every failure of the client becomes a StoreError, so that an outage is not taken for a fault. */
export async function fromRedis<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(`Redis did not answer: ${reason.replace(/\.$/, "")}`, { cause: error });
  }
}

/** The answers of a pipeline or a transaction. Rejects with a StoreError when one of its commands failed. */
export function allFromRedis(
  replies: Promise<readonly [Error | null, unknown][] | null>,
): Promise<unknown[]> {
  const answers = replies.then((all) =>
    (all ?? []).map(([error, answer]) => {
      if (error !== null) throw error;
      return answer;
    }),
  );
  return fromRedis(answers);
}

/** A function that does some work with a store, and throws what `failure` makes of a StoreError. */
export function storeFailureAs(failure: (error: StoreError) => Error) {
  return async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw error instanceof StoreError ? failure(error) : error;
    }
  };
}

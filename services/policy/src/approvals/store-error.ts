/** Redis cannot be asked about approvals: nothing is approved then. */
export class ApprovalStoreError extends Error {
  override readonly name = "ApprovalStoreError";
}

/** Gives every failure of the Redis client one name, so that an outage is not taken for a fault. */
export async function askRedis<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    throw new ApprovalStoreError(`Redis did not answer: ${String(error)}`, { cause: error });
  }
}

/** The last of those who wait for a file, by its path. */
const turns = new Map<string, Promise<unknown>>();

/**
 * Lets those who change one file do it one after the other: what one has read, the one before would otherwise have changed by
 * the time it is written. Holds in this process.
 */
export async function inTurn<T>(path: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(path) ?? Promise.resolve();
  const turn = before.then(work);
  const settled = turn.catch(() => undefined);
  turns.set(path, settled);
  try {
    return await turn;
  } finally {
    if (turns.get(path) === settled) turns.delete(path);
  }
}

/** The last queued change of each file, by its path. */
const turns = new Map<string, Promise<unknown>>();

/**
 * Serialises changes of one file: otherwise a change would overwrite another one that was written after its read. It applies to
 * this process only.
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

/**
 * Runs a task for each item, at most `limit` at a time, in the order of the items. After the first failure no new task is begun;
 * the running ones are awaited, and then the failure is thrown.
 */
export async function boundedParallel<T>(
  items: readonly T[],
  limit: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (const item of waiting) {
      if (failures.length > 0) return;
      try {
        await task(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}

/** A wait ends after `ms` milliseconds, or when `signal` aborts. */
export interface WaitLimit {
  readonly ms?: number;
  readonly signal?: AbortSignal;
}

const OVER = Symbol("over");

/**
 * Settles as `work` does. When the limit is reached first, it resolves with what `late` returns (without it undefined), or rejects with what it throws; the work
 * continues, and its outcome is dropped.
 */
export async function within<T, L = undefined>(
  work: Promise<T>,
  { ms, signal }: WaitLimit,
  late: () => L = () => undefined as L,
): Promise<T | L> {
  const over = Promise.withResolvers<typeof OVER>();
  const end = (): void => over.resolve(OVER);
  const timer = ms === undefined ? undefined : setTimeout(end, Math.max(0, ms));
  signal?.addEventListener("abort", end, { once: true });
  if (signal?.aborted === true) end();
  try {
    const first = await Promise.race([work, over.promise]);
    return first === OVER ? late() : first;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}

/** Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts first. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  const end = (): void => over.resolve();
  const timer = setTimeout(end, ms);
  signal.addEventListener("abort", end, { once: true });
  if (!signal.aborted) await over.promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", end);
  signal.throwIfAborted();
}

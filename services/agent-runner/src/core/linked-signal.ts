/** A signal that follows others until it is released. */
export interface LinkedSignal {
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
  /** Removes the listeners from the sources. */
  readonly release: () => void;
}

/**
 * Aborts with the first of the sources, for the same reason, or on the caller's request. AbortSignal.any is not used: its
 * bookkeeping costs a run more than the signals themselves, and remains with a source that lives as long as the process until
 * the garbage collector has removed it.
 */
export function linkSignals(...sources: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController();
  const follow = (): void => {
    const first = sources.find(({ aborted }) => aborted);
    if (first !== undefined) controller.abort(first.reason);
  };
  for (const source of sources) source.addEventListener("abort", follow, { once: true });
  follow();
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release() {
      for (const source of sources) source.removeEventListener("abort", follow);
    },
  };
}

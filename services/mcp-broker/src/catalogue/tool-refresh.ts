import { errorText } from "../limits/call-failure.ts";

export type ToolRefresh = ReturnType<typeof createToolRefresh>;

/** Reads the list; resolves with how long it is valid, in milliseconds, or null when the server gives no time. */
export type ReadList = () => Promise<number | null>;

/** Calls back after the delay unless the returned function is called first. */
export type Schedule = (delayMs: number, callback: () => void) => () => void;

/** Changes that come this close together are read once. */
const DEBOUNCE_MS = 100;
/** A server that changes its list all the time takes at most this share of it: one part in five. */
const PAUSE_PER_READING = 4;
/** A list that is never valid is not read all the time either. */
export const MIN_TTL_MS = 10_000;
const MAX_TTL_MS = 86_400_000;

/**
 * Reads the tool list again when the server reports a change, and when the time is over for which the server declared it valid. A
 * change during a reading, or before the session is there, leads to one more reading.
 */
export function createToolRefresh(
  onTrouble: (problem: string) => void,
  {
    schedule = withTimer,
    clock = () => performance.now(),
  }: { schedule?: Schedule; clock?: () => number } = {},
) {
  let read: ReadList | null = null;
  let isStale = false;
  let isReading = false;
  let pauseMs = DEBOUNCE_MS;
  let reading: Promise<void> | null = null;
  let cancelRead: (() => void) | null = null;
  let cancelExpiry: (() => void) | null = null;

  const readOnce = async (): Promise<void> => {
    if (read === null) throw new Error("the connection ended");
    const begun = clock();
    isStale = false;
    try {
      expireAfter(await read());
    } finally {
      pauseMs = Math.max(DEBOUNCE_MS, (clock() - begun) * PAUSE_PER_READING);
    }
  };
  const begin = (): Promise<void> => {
    isReading = true;
    reading = readOnce().finally(() => {
      isReading = false;
      reading = null;
      if (isStale) soon();
    });
    return reading;
  };
  const soon = (): void => {
    if (read === null || isReading || cancelRead !== null) return;
    cancelRead = schedule(pauseMs, () => {
      cancelRead = null;
      if (!isReading)
        begin().catch((error: unknown) => {
          if (read !== null)
            onTrouble(`the changed tool list could not be read: ${errorText(error)}`);
        });
    });
  };
  const request = (): void => {
    isStale = true;
    soon();
  };
  function expireAfter(ttlMs: number | null): void {
    cancelExpiry?.();
    if (ttlMs === null || read === null) return;
    cancelExpiry = schedule(Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_TTL_MS), request);
  }

  return {
    /** The list has changed. */
    request,
    /** Changes are read from this call on; a change reported before it is read, too. */
    start(reader: ReadList, ttlMs: number | null): void {
      read = reader;
      expireAfter(ttlMs);
      if (isStale) soon();
    },
    /** Reads the list now, or after the reading under way. Rejects with what the reading rejects. */
    async now(): Promise<void> {
      // The reading under way may have begun before the change that the caller means.
      if (reading !== null) await reading.catch(() => undefined);
      await (reading ?? begin());
    },
    stop(): void {
      read = null;
      cancelRead?.();
      cancelExpiry?.();
    },
  };
}

function withTimer(delayMs: number, callback: () => void): () => void {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
}

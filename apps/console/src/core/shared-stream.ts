/** A stream that the tabs of a browser share: one of them reads it and passes each message on. */
interface SharedStream<T> {
  /** Names the stream among the tabs. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** Opens the stream, in the tab that reads it, behind the last message that this tab has. */
  readonly read: () => AsyncIterable<T>;
  /** Called for each message in every tab. Tabs may get one twice when the reading tab changes. */
  readonly take: (message: T) => void;
  /** Called in a tab that another one reads for, before it gets messages. */
  readonly catchUp?: () => Promise<void>;
}

type Passed<T> = { readonly message: T } | { readonly hasEnded: true };

/**
 * A browser opens at most six connections to an address, so the sixth tab with a stream of its own would load nothing. The tab
 * that holds the lock reads; when it is closed the next one does. Resolves at the end of the stream; rejects as `read` and `catchUp`
 * do. Without locks, which a page over plain HTTP from another machine does not have, each tab reads for itself.
 */
export async function shareStream<T>(stream: SharedStream<T>): Promise<void> {
  const { name, signal, read, take, catchUp } = stream;
  if (signal.aborted) return;
  if (!("locks" in navigator)) {
    for await (const message of read()) take(message);
    return;
  }
  const channel = new BroadcastChannel(`switchyard ${name}`);
  const ended = Promise.withResolvers<void>();
  const waiting = new AbortController();
  let isReading = false;
  let early: T[] | null = [];
  channel.addEventListener("message", ({ data }: MessageEvent<Passed<T>>) => {
    if (isReading) return;
    if ("hasEnded" in data) ended.resolve();
    else if (early === null) take(data.message);
    else early.push(data.message);
  });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
  const pass = (passed: Passed<T>): void => channel.postMessage(passed);
  const stop = (): void => ended.resolve();
  signal.addEventListener("abort", stop, { once: true });
  const lead = async (): Promise<void> => {
    isReading = true;
    for await (const message of read()) {
      pass({ message });
      take(message);
    }
    if (!signal.aborted) pass({ hasEnded: true });
    ended.resolve();
  };
  const leading = navigator.locks
    .request(`switchyard ${name}`, { signal: waiting.signal }, lead)
    .catch((error: unknown) => {
      // A tab that no longer waits for the lock has ended.
      if (!waiting.signal.aborted) ended.reject(error);
    });
  try {
    // The tab that gets the lock reads everything by itself.
    if (catchUp !== undefined && (await isHeld(`switchyard ${name}`)) && !isReading)
      await catchUp();
    for (const message of early) take(message);
    early = null;
    await ended.promise;
  } finally {
    waiting.abort();
    signal.removeEventListener("abort", stop);
    await leading;
    channel.close();
  }
}

async function isHeld(name: string): Promise<boolean> {
  const { held = [] } = await navigator.locks.query();
  return held.some((lock) => lock.name === name);
}

import { RUN_ENDS, type RunEvents } from "./operations.ts";
import { ProblemError } from "./problem-error.ts";
import { readSentEvents } from "./sent-events.ts";

/** `live`: events come as they happen. `waiting`: the stream was cut, or no gateway answers, and is opened again shortly. */
export type FollowState = "connecting" | "live" | "waiting";

export interface FollowOptions {
  /** Ends the following without an error. */
  readonly signal?: AbortSignal;
  /** The id of the last event that the caller has. */
  readonly after?: string | number;
  readonly onState?: (state: FollowState) => void;
  /** Ends after the stored events, also when a run continues. */
  readonly stopAtEnd?: boolean;
}

/** An event of a run; `id` is its number in the run, null for live text and for events before the run begins. */
export type RunMessage = {
  [Name in keyof RunEvents]: {
    readonly event: Name;
    readonly id: number | null;
    readonly data: RunEvents[Name];
  };
}[keyof RunEvents];

/** An event of the stream of all events; `id` is its position there, which goes into `after` unchanged. */
export interface StreamMessage {
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}

/** Opens the stream behind the last event that the caller has. Rejects with a ProblemError. */
export type OpenStream = (lastId: string, signal: AbortSignal) => Promise<Response>;

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;
/** A gateway pings every 15 seconds: after so long without a byte the connection counts as dead. */
const SILENCE_MS = 40_000;

/** A run from its beginning, or behind `after`, to its end; after a cut it is resumed, so that no event is lost or repeated. */
export async function* followRun(
  open: OpenStream,
  options: FollowOptions = {},
): AsyncGenerator<RunMessage> {
  // A run that was retried has ends in its past: the gateway ends the stream behind the last one.
  let hasEnded = false;
  const isDone = (): boolean => hasEnded || options.stopAtEnd === true;
  for await (const message of followStream(open, options, isDone)) {
    if (message.event !== "delta") hasEnded = RUN_ENDS.has(message.event);
    const id = message.id === null ? null : Number(message.id);
    // The gateway's contract for this stream; `Operations` and `RunEvents` are generated from the same ones.
    yield { ...message, id } as RunMessage;
  }
}

/**
 * Messages of a stream until the signal ends it. Rejects with a ProblemError when the gateway refuses the stream (a 4xx other than 429);
 * every other failure is retried, with pauses that grow to 15 seconds. A stream that the gateway ended is opened again unless `isDone`.
 */
export async function* followStream(
  open: OpenStream,
  { signal, after = "", onState = () => {} }: FollowOptions = {},
  isDone: () => boolean = () => false,
): AsyncGenerator<StreamMessage> {
  const ending = signal ?? new AbortController().signal;
  let lastId = String(after);
  let failures = 0;
  let retryMs = FIRST_WAIT_MS;
  while (!ending.aborted) {
    onState("connecting");
    const attempt = new AbortController();
    const stop = (): void => attempt.abort();
    ending.addEventListener("abort", stop, { once: true });
    const silence = watchSilence(stop);
    try {
      const response = await open(lastId, attempt.signal);
      onState("live");
      // A gateway that answers is available: after a cut the client reconnects soon, even if no event came.
      failures = 0;
      const control = { onBytes: silence.restart, onRetry: (ms: number) => void (retryMs = ms) };
      if (response.body === null) throw new TypeError("the stream has no body");
      for await (const { event, id, data } of readSentEvents(response.body, control)) {
        if (id !== null) lastId = id;
        yield { event, id, data: JSON.parse(data) as unknown };
      }
      if (isDone()) return;
    } catch (error) {
      if (error instanceof ProblemError && isFinal(error) && !ending.aborted) throw error;
    } finally {
      silence.stop();
      ending.removeEventListener("abort", stop);
      attempt.abort();
    }
    if (ending.aborted) return;
    onState("waiting");
    await pause(Math.min(retryMs * 2 ** failures, LONGEST_WAIT_MS), ending);
    failures += 1;
  }
}

function isFinal({ status }: ProblemError): boolean {
  return status >= 400 && status < 500 && status !== 429;
}

function watchSilence(onSilent: () => void): { restart: () => void; stop: () => void } {
  let timer = setTimeout(onSilent, SILENCE_MS);
  return {
    restart: () => {
      clearTimeout(timer);
      timer = setTimeout(onSilent, SILENCE_MS);
    },
    stop: () => clearTimeout(timer),
  };
}

/** Resolves early when the signal ends it. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}

import type { DeadlineWheel, Expirable, Slot } from "./deadline-wheel.ts";
import { fellSilent, timedOut } from "./infrastructure-errors.ts";
import { randomHex } from "./random-hex.ts";
import { SILENT_LOOKS } from "./working-note.ts";

/** A wait for one reply, as it begins. */
export interface Awaited {
  /** The subject of the request. */
  readonly subject: string;
  readonly timeoutMs: number;
  /** Ends the wait, with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** True when the service sends notes while it works on the request, as `serve()` does: then its silence ends the wait. */
  readonly isNoted?: boolean;
}

/** Digits of a token that are random. */
const RANDOM_DIGITS = 16;

/**
 * The waits by the tokens of their requests, each of which ends with the index of its wait. It is no Map for the reason that
 * {@link Roster} has against a Set.
 */
export class PendingReplies<T> {
  readonly #deadlines: DeadlineWheel;
  readonly #pending: (PendingReply<T> | null)[] = [];
  readonly #free: number[] = [];

  constructor(deadlines: DeadlineWheel) {
    this.#deadlines = deadlines;
  }

  /** Begins a wait. Its promise rejects with a ServiceError at the deadline, or with the signal's reason. */
  open(awaited: Awaited): PendingReply<T> {
    const index = this.#free.pop() ?? this.#pending.length;
    const token = `${randomHex(RANDOM_DIGITS)}${index}`;
    const pending = new PendingReply<T>(awaited, token, () => this.#release(pending, index));
    this.#pending[index] = pending;
    pending.expireIn(this.#deadlines);
    return pending;
  }

  find(token: string): PendingReply<T> | null {
    const pending = this.#pending[Number(token.slice(RANDOM_DIGITS))];
    return pending?.token === token ? pending : null;
  }

  values(): PendingReply<T>[] {
    return this.#pending.filter((pending) => pending !== null);
  }

  /** A repetition does nothing. */
  #release(pending: PendingReply<T>, index: number): void {
    if (this.#pending[index] !== pending) return;
    this.#pending[index] = null;
    this.#free.push(index);
  }
}

export class PendingReply<T> implements Expirable {
  readonly subject: string;
  readonly token: string;
  readonly #timeoutMs: number;
  readonly #isNoted: boolean;
  readonly #settling = Promise.withResolvers<T>();
  readonly #release: () => void;
  #slot: Slot | null = null;
  #stopListening: (() => void) | null = null;
  /** Number of consecutive checks that found no note. */
  #silence = 0;

  constructor(awaited: Awaited, token: string, release: () => void) {
    const { subject, timeoutMs, signal, isNoted = false } = awaited;
    this.subject = subject;
    this.token = token;
    this.#timeoutMs = timeoutMs;
    this.#isNoted = isNoted;
    this.#release = release;
    if (signal !== undefined) this.#abortOn(signal);
  }

  get reply(): Promise<T> {
    return this.#settling.promise;
  }

  expireIn(deadlines: DeadlineWheel): void {
    this.#slot = deadlines.add(this, this.#timeoutMs);
  }

  /** The service works on the request. */
  noteSign(): void {
    this.#silence = 0;
  }

  look(): void {
    if (!this.#isNoted) return;
    this.#silence += 1;
    if (this.#silence >= SILENT_LOOKS) this.fail(fellSilent(this.subject));
  }

  succeed(reply: T): void {
    this.drop();
    this.#settling.resolve(reply);
  }

  fail(error: unknown): void {
    this.drop();
    this.#settling.reject(error);
  }

  /** Ends the wait without a reply, for a request that is not sent this way after all. */
  drop(): void {
    this.#release();
    this.#slot?.delete(this);
    this.#stopListening?.();
  }

  expire(): void {
    this.fail(timedOut(this.subject, this.#timeoutMs));
  }

  #abortOn(signal: AbortSignal): void {
    const onAbort = (): void => this.fail(abortReason(signal));
    signal.addEventListener("abort", onAbort, { once: true });
    this.#stopListening = () => signal.removeEventListener("abort", onAbort);
  }
}

/** The error of an aborted signal. */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? new DOMException("the call was cancelled", "AbortError");
}

import { ServiceError } from "@switchyard/contracts/errors";
import { streamTaking } from "@switchyard/contracts/stream-names";
import { notStored } from "./infrastructure-errors.ts";

/** Between the end of one attempt at a silent stream and the next one. */
const PAUSE_MS = 1_000;
/** An attempt without a reported end counts as over after that: longer than any publish waits. */
const ATTEMPT_MS = 10_000;
/** The state of a stream expires after so long without an attempt. */
const FORGET_MS = 60_000;

interface Silence {
  /** The time of the next attempt; while one is under way, the time of the next if that one never ends. */
  nextAt: number;
  triedAt: number;
}

/**
 * Detects streams that do not answer, although the connection is up. A nats-server that cannot write to its disk gives no answer at all,
 * and stores nothing more in that stream until it is restarted. Without this each message would wait for its whole timeout; with it one
 * attempt at a time is made, and all others are refused at once.
 */
export class StoreWatch {
  readonly #silences = new Map<string, Silence>();
  readonly #now: () => number;
  readonly #onChange: (stream: string, isStored: boolean) => void;

  /** `now`: milliseconds of a monotonic clock. `onChange` is called when a stream falls silent and when it answers again. */
  constructor(now: () => number, onChange: (stream: string, isStored: boolean) => void = () => {}) {
    this.#now = now;
    this.#onChange = onChange;
  }

  /** Requests the subject's stream to store something. Rejects as `ask` does, and with `overloaded` when no attempt is due. */
  async watch<T>(subject: string, ask: () => Promise<T>): Promise<T> {
    this.begin(subject);
    try {
      const answer = await ask();
      this.answered(subject);
      return answer;
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : null;
      if (code === "timeout") this.unanswered(subject);
      else if (code === "no_responders") this.absent(subject);
      else this.answered(subject);
      throw error;
    }
  }

  /** Throws `overloaded` when the subject's stream is silent and this is not the attempt that is due. */
  begin(subject: string): void {
    const stream = streamOf(subject);
    const silence = this.#silences.get(stream);
    if (silence === undefined) return;
    if (this.#now() < silence.nextAt) throw notStored(subject, stream);
    silence.nextAt = this.#now() + ATTEMPT_MS;
    silence.triedAt = this.#now();
  }

  /** The stream answered, with whatever result. */
  answered(subject: string): void {
    const stream = streamOf(subject);
    if (this.#silences.delete(stream)) this.#onChange(stream, true);
  }

  /** No answer came in time. */
  unanswered(subject: string): void {
    this.#failed(subject, PAUSE_MS);
  }

  /**
   * The server answered at once that the subject has no stream: there is none, or JetStream is off, which nats-server turns off itself when
   * its disk is full while a stream copies from another one. That costs no time, so the next attempt may be made at once.
   */
  absent(subject: string): void {
    this.#failed(subject, 0);
  }

  #failed(subject: string, pauseMs: number): void {
    const stream = streamOf(subject);
    const isNews = !this.#silences.has(stream);
    const now = this.#now();
    this.#silences.set(stream, { nextAt: isNews ? now : now + pauseMs, triedAt: now });
    if (isNews) this.#onChange(stream, false);
  }

  /** Attempts over a lost connection show nothing about the next one. */
  forgetAll(): void {
    this.#silences.clear();
  }

  /** Streams that do not answer now. */
  silent(): string[] {
    const since = this.#now() - FORGET_MS;
    return [...this.#silences].flatMap(([stream, { triedAt }]) =>
      triedAt < since ? [] : [stream],
    );
  }
}

/** The subject itself when no stream of the contracts has it. */
function streamOf(subject: string): string {
  const bucket = /^\$O\.([^.]+)\./.exec(subject)?.[1];
  if (bucket !== undefined) return `OBJ_${bucket}`;
  return streamTaking(subject) ?? subject;
}

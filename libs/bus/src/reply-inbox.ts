import {
  createInbox,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type PermissionViolationError,
} from "@nats-io/transport-node";
import type { ServiceError } from "@switchyard/contracts/errors";
import type { DeadlineWheel, Expirable, Slot } from "./deadline-wheel.ts";
import {
  answerLost,
  fellSilent,
  forbidden,
  infrastructureError,
  noResponders,
  timedOut,
} from "./infrastructure-errors.ts";
import type { Outbox } from "./outbox.ts";
import { randomHex } from "./random-hex.ts";
import { LOOK_EVERY_MS, SILENT_LOOKS, WORKING } from "./working-note.ts";

export interface OutgoingRequest {
  readonly subject: string;
  readonly body: string | Uint8Array;
  readonly headers?: MsgHdrs | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Whoever answers tells that it works on the request, as `serve()` does: its silence ends the wait. */
  readonly isNoted?: boolean;
}

/** Of a token. */
const RANDOM_DIGITS = 16;

/**
 * All replies to this connection arrive on one subscription. The token of each request is random:
 * whoever may write into this inbox still cannot answer a request that it did not receive.
 */
export class ReplyInbox {
  readonly #outbox: Outbox;
  readonly #user: string;
  readonly #base: string;
  readonly #deadlines: DeadlineWheel;
  readonly #pending = new PendingReplies();
  readonly #looking: NodeJS.Timeout;

  constructor(
    nc: NatsConnection,
    options: { user: string; inboxPrefix: string; deadlines: DeadlineWheel; outbox: Outbox },
  ) {
    this.#outbox = options.outbox;
    this.#user = options.user;
    this.#deadlines = options.deadlines;
    this.#base = `${createInbox(options.inboxPrefix)}.`;
    nc.subscribe(`${this.#base}>`, {
      callback: (error, message) => {
        if (error === null) this.#receive(message);
        else this.rejectAll(() => forbidden("subscribe", this.#user, `${this.#base}>`));
      },
    });
    this.#looking = setInterval(() => {
      for (const pending of this.#pending.values()) pending.look();
    }, LOOK_EVERY_MS).unref();
  }

  /** Sends a request and waits for its first answer. Rejects with a ServiceError, or with the signal's reason. */
  request(request: OutgoingRequest): Promise<Msg> {
    const { subject, body, headers, timeoutMs, signal, isNoted = false } = request;
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(abortReason(signal));
        return;
      }
      const pending = new PendingReply({
        subject,
        timeoutMs,
        isNoted,
        resolve,
        reject,
        release: () => this.#pending.delete(pending),
      });
      this.#pending.add(pending);
      pending.slot = this.#deadlines.add(pending, timeoutMs);
      if (signal !== undefined) pending.abortOn(signal);
      this.#outbox.send({
        subject,
        body,
        reply: this.#base + pending.token,
        ...(headers === undefined ? {} : { headers }),
        onError: (error) => pending.fail(infrastructureError(error, this.#user, subject)),
      });
    });
  }

  /** The server refused a publish: whoever waits for an answer to it waits in vain. */
  refuse(violation: PermissionViolationError): void {
    if (violation.operation !== "publish") return;
    for (const pending of this.#pending.values()) {
      if (pending.subject === violation.subject)
        pending.fail(forbidden("publish", this.#user, pending.subject));
    }
  }

  /** Ends every wait, at the end of the connection. */
  close(): void {
    clearInterval(this.#looking);
    this.rejectAll(answerLost);
  }

  rejectAll(errorOf: (subject: string) => ServiceError): void {
    for (const pending of this.#pending.values()) pending.fail(errorOf(pending.subject));
  }

  #receive(message: Msg): void {
    const token = message.subject.slice(this.#base.length);
    const pending = this.#pending.find(token);
    if (pending === null) this.#hearNote(token);
    else if (message.data.length === 0 && message.headers?.code === 503)
      pending.fail(noResponders(pending.subject));
    else pending.succeed(message);
  }

  #hearNote(token: string): void {
    if (token.endsWith(WORKING)) this.#pending.find(token.slice(0, -WORKING.length))?.hear();
  }
}

/**
 * The waits by the tokens of their requests. No Map, for what a {@link Roster} says of a Set: a token ends with the
 * index of its wait.
 */
class PendingReplies {
  readonly #pending: (PendingReply | null)[] = [];
  readonly #free: number[] = [];

  add(pending: PendingReply): void {
    const index = this.#free.pop() ?? this.#pending.length;
    this.#pending[index] = pending;
    pending.index = index;
    pending.token = `${randomHex(RANDOM_DIGITS)}${index}`;
  }

  /** Once is enough; more often does nothing. */
  delete(pending: PendingReply): void {
    const { index } = pending;
    if (this.#pending[index] !== pending) return;
    this.#pending[index] = null;
    this.#free.push(index);
  }

  find(token: string): PendingReply | null {
    const pending = this.#pending[Number(token.slice(RANDOM_DIGITS))];
    return pending?.token === token ? pending : null;
  }

  values(): PendingReply[] {
    return this.#pending.filter((pending) => pending !== null);
  }
}

class PendingReply implements Expirable {
  readonly subject: string;
  token = "";
  index = -1;
  slot: Slot | null = null;
  readonly #timeoutMs: number;
  readonly #isNoted: boolean;
  readonly #resolve: (message: Msg) => void;
  readonly #reject: (error: unknown) => void;
  readonly #release: () => void;
  #stopListening: (() => void) | null = null;
  /** Looks in a row that found nothing. */
  #silence = 0;

  constructor(options: {
    subject: string;
    timeoutMs: number;
    isNoted: boolean;
    resolve: (message: Msg) => void;
    reject: (error: unknown) => void;
    release: () => void;
  }) {
    this.subject = options.subject;
    this.#timeoutMs = options.timeoutMs;
    this.#isNoted = options.isNoted;
    this.#resolve = options.resolve;
    this.#reject = options.reject;
    this.#release = options.release;
  }

  abortOn(signal: AbortSignal): void {
    const onAbort = (): void => this.fail(abortReason(signal));
    signal.addEventListener("abort", onAbort, { once: true });
    this.#stopListening = () => signal.removeEventListener("abort", onAbort);
  }

  /** Somebody works on the request. */
  hear(): void {
    this.#silence = 0;
  }

  look(): void {
    if (!this.#isNoted) return;
    this.#silence += 1;
    if (this.#silence >= SILENT_LOOKS) this.fail(fellSilent(this.subject));
  }

  succeed(message: Msg): void {
    this.#settle();
    this.#resolve(message);
  }

  fail(error: unknown): void {
    this.#settle();
    this.#reject(error);
  }

  expire(): void {
    this.fail(timedOut(this.subject, this.#timeoutMs));
  }

  #settle(): void {
    this.#release();
    this.slot?.delete(this);
    this.#stopListening?.();
  }
}

function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? new DOMException("the call was cancelled", "AbortError");
}

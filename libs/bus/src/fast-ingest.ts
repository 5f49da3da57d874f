import type { Connection } from "./connection.ts";
import type { Expirable } from "./deadline-wheel.ts";
import {
  answerLost,
  disconnected,
  forbidden,
  infrastructureError,
  jetStreamError,
  lostOnTheWay,
  streamMissing,
  timedOut,
  type ApiError,
} from "./infrastructure-errors.ts";
import { PUBLISH_TIMEOUT_MS, type ReadyMessage } from "./publish.ts";
import { randomHex } from "./random-hex.ts";
import { parseObject } from "./wire.ts";

/** Notified of the outcomes of messages that were sent by fast ingest. */
export interface IngestListener {
  /** The stream has so many more of the first messages. */
  stored(count: number): void;
  /**
   * No message that is still in flight will be acknowledged; the message at `index` of these is the cause, or null when only the server's
   * way of counting ended the batch. Those behind it are not stored. Those before it may be: sent again, the stream drops them as repeats
   * when they have a message id.
   */
  ended(failure: { readonly index: number; readonly error: unknown } | null): void;
}

const TOKEN_DIGITS = 16;
/** The server forgets a batch that got no message for 10 s. */
const MAX_IDLE_MS = 5_000;
/** The operation in a message's reply subject, which also names the batch, how to answer and the message's number. */
const OPERATION = { start: 0, append: 1 };
/** The server acknowledges after so many messages: after each, because another one may never come. */
const FLOW = 1;
/** An error code in nats-server's errors.json: the server has forgotten the batch. */
const UNKNOWN_BATCH = 10_208;

/** The server's answer: about the flow (`ack`), a gap, a message that it does not take (`err`), or the batch's end. */
interface Answer {
  readonly type?: string;
  readonly seq?: number;
  /** Messages that are stored, at the end. */
  readonly count?: number;
  readonly error?: ApiError;
}

interface Batch {
  readonly token: string;
  /** Number of the last message that was sent; they count from 1. */
  sent: number;
  stored: number;
  /** Subjects of the messages in flight. */
  subjects: string[];
  usedAt: number;
}

/**
 * Sends messages to one stream by JetStream's fast ingest (ADR-50,
 * https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-50.md). The server stores them in the order of their numbers:
 * when one is missing or cannot be stored it stores none of those behind it. So many can be in flight at once and keep their order, also
 * when another server becomes the stream's leader.
 */
export class FastIngest implements Expirable {
  readonly #connection: Connection;
  readonly #listener: IngestListener;
  readonly #base: string;
  #batch: Batch | null = null;
  #isSubscribed = false;
  #isTimed = false;
  /**
   * The last time at which a message was stored, or was sent to a server that had answered all before; in milliseconds of a monotonic
   * clock.
   */
  #progressAt = 0;

  constructor(connection: Connection, listener: IngestListener) {
    this.#connection = connection;
    this.#listener = listener;
    // A batch's name has at most 64 characters, so this is shorter than the library's own inboxes.
    this.#base = `${connection.inboxPrefix}.${randomHex(TOKEN_DIGITS)}.`;
    connection.listeners.add({
      disconnected: () => this.#endAtFirst(disconnected),
      reconnected: () => {},
      publishRefused: (subject) => this.#refused(subject),
    });
    const closed = (): void => this.#endAtFirst(answerLost);
    connection.receivers.add({ stop: () => Promise.resolve(), closed });
  }

  /** Never throws. While the bus is not connected the batch ends at once. */
  send({ subject, body, headers }: ReadyMessage): void {
    const now = performance.now();
    const batch = this.#batchAt(now);
    const isFirst = batch.subjects.length === 0;
    if (isFirst) this.#progressAt = now;
    batch.sent += 1;
    batch.usedAt = now;
    batch.subjects.push(subject);
    const seq = batch.sent;
    if (!this.#connection.isConnected()) return this.#end(batch, seq, disconnected(subject));
    this.#subscribe();
    if (isFirst) {
      try {
        this.#connection.stores.begin(subject);
      } catch (error) {
        return this.#end(batch, seq, error);
      }
    }
    this.#time();
    const operation = seq === 1 ? OPERATION.start : OPERATION.append;
    this.#connection.outbox.send({
      subject,
      body,
      headers,
      reply: `${this.#base}${batch.token}.${FLOW}.fail.${seq}.${operation}.$FI`,
      onError: (error) =>
        this.#end(batch, seq, infrastructureError(error, this.#connection.user, subject)),
    });
  }

  /** One deadline for all messages in flight: the server answers in order. */
  expire(): void {
    this.#isTimed = false;
    const batch = this.#batch;
    if (batch === null || batch.subjects.length === 0) return;
    if (performance.now() - this.#progressAt < PUBLISH_TIMEOUT_MS) return this.#time();
    this.#connection.stores.unanswered(batch.subjects[0] ?? "");
    this.#endAtFirst((subject) => timedOut(subject, PUBLISH_TIMEOUT_MS));
  }

  #batchAt(now: number): Batch {
    const current = this.#batch;
    const isStale =
      current !== null && current.subjects.length === 0 && now - current.usedAt > MAX_IDLE_MS;
    if (current !== null && !isStale) return current;
    const batch = { token: randomHex(TOKEN_DIGITS), sent: 0, stored: 0, subjects: [], usedAt: now };
    this.#batch = batch;
    return batch;
  }

  #time(): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    const leftMs = this.#progressAt + PUBLISH_TIMEOUT_MS - performance.now();
    this.#connection.deadlines.add(this, leftMs);
  }

  #subscribe(): void {
    if (this.#isSubscribed) return;
    this.#isSubscribed = true;
    const { nc, user } = this.#connection;
    nc.subscribe(`${this.#base}>`, {
      callback: (error, message) => {
        if (error === null) {
          const isMissing = message.data.length === 0 && message.headers?.code === 503;
          this.#receive(message.subject, isMissing ? null : message.string());
        } else {
          this.#isSubscribed = false;
          this.#endAtFirst(() => forbidden("subscribe", user, `${this.#base}>`));
        }
      },
    });
  }

  /** `text` is null when the server reports no responders for a message's subject. */
  #receive(replySubject: string, text: string | null): void {
    const [token, , , kind] = replySubject.slice(this.#base.length).split(".");
    const batch = this.#batch;
    if (batch === null || batch.token !== token) return; // of a batch that has ended
    const seq = Number(kind);
    const subject = batch.subjects[seq - batch.stored - 1] ?? "";
    // An answer of unknown form leaves the batch to its deadline.
    const answer: Answer | null = text === null ? null : (parseObject(text) ?? {});
    const { type, seq: lastStored = 0, count, error } = answer ?? {};
    // A batch's beginning is acknowledged at once, also by a server that cannot write to its disk.
    if (answer === null) this.#connection.stores.absent(subject);
    else if (type !== "ack" || lastStored > batch.stored)
      this.#connection.stores.answered(batch.subjects[0] ?? "");
    if (answer === null) return this.#end(batch, seq, streamMissing(subject));
    if (type === "ack") this.#advance(batch, lastStored);
    else if (type === "gap" || error?.err_code === UNKNOWN_BATCH) this.#endAtFirst(lostOnTheWay);
    else if (error !== undefined) this.#end(batch, seq, jetStreamError(subject, error));
    else if (count !== undefined) {
      // The server ends a batch when its first message is a repeat, or something was lost.
      this.#advance(batch, count);
      if (count === 0) return this.#endAtFirst(lostOnTheWay);
      this.#batch = null;
      if (batch.subjects.length > 0) this.#listener.ended(null);
    }
  }

  #advance(batch: Batch, stored: number): void {
    const more = stored - batch.stored;
    if (!(more > 0 && more <= batch.subjects.length)) return;
    batch.stored = stored;
    batch.subjects.splice(0, more);
    this.#progressAt = performance.now();
    this.#listener.stored(more);
  }

  /** The server refused a publish: nothing behind it is stored either. */
  #refused(subject: string): void {
    const batch = this.#batch;
    const index = batch?.subjects.indexOf(subject) ?? -1;
    if (batch === null || index === -1) return;
    const error = forbidden("publish", this.#connection.user, subject);
    this.#end(batch, batch.stored + index + 1, error);
  }

  #endAtFirst(errorOf: (subject: string) => unknown): void {
    const batch = this.#batch;
    const [first] = batch?.subjects ?? [];
    if (batch !== null && first !== undefined) this.#end(batch, batch.stored + 1, errorOf(first));
  }

  #end(batch: Batch, seq: number, error: unknown): void {
    if (this.#batch !== batch) return;
    this.#batch = null;
    const index = Math.max(0, seq - batch.stored - 1);
    this.#listener.ended({ index, error });
  }
}

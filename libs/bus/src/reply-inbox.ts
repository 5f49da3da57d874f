import {
  createInbox,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type PermissionViolationError,
} from "@nats-io/transport-node";
import type { ServiceError } from "@switchyard/contracts/errors";
import type { DeadlineWheel } from "./deadline-wheel.ts";
import {
  answerLost,
  forbidden,
  infrastructureError,
  noResponders,
} from "./infrastructure-errors.ts";
import type { Outbox } from "./outbox.ts";
import { abortReason, PendingReplies, type Awaited } from "./pending-replies.ts";
import { LOOK_EVERY_MS, WORKING } from "./working-note.ts";

export interface OutgoingRequest extends Awaited {
  readonly body: string | Uint8Array;
  readonly headers?: MsgHdrs | undefined;
}

/**
 * All replies to this connection arrive on one subscription. The token of each request is random: a client that may write into this inbox
 * still cannot answer a request that it did not receive.
 */
export class ReplyInbox {
  readonly #outbox: Outbox;
  readonly #user: string;
  readonly #base: string;
  readonly #pending: PendingReplies<Msg>;
  readonly #looking: NodeJS.Timeout;

  constructor(
    nc: NatsConnection,
    options: { user: string; inboxPrefix: string; deadlines: DeadlineWheel; outbox: Outbox },
  ) {
    this.#outbox = options.outbox;
    this.#user = options.user;
    this.#pending = new PendingReplies(options.deadlines);
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
    const { subject, body, headers, signal } = request;
    if (signal?.aborted === true) return Promise.reject(abortReason(signal));
    const pending = this.#pending.open(request);
    this.#outbox.send({
      subject,
      body,
      reply: this.#base + pending.token,
      ...(headers === undefined ? {} : { headers }),
      onError: (error) => pending.fail(infrastructureError(error, this.#user, subject)),
    });
    return pending.reply;
  }

  /** The server refused a publish: a request on that subject will never get an answer. */
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
    if (pending === null) this.#onNote(token);
    else if (message.data.length === 0 && message.headers?.code === 503)
      pending.fail(noResponders(pending.subject));
    else pending.succeed(message);
  }

  #onNote(token: string): void {
    if (token.endsWith(WORKING)) this.#pending.find(token.slice(0, -WORKING.length))?.noteSign();
  }
}

import { backoffMs } from "@switchyard/contracts/backoff";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import type { VerifiedCallers } from "./verified-caller.ts";
import type { Connection } from "./connection.ts";
import type { ConsumeOptions, Outcome } from "./delivery.ts";
import {
  contentOf,
  factsOf,
  refusedContent,
  type CommandContent,
  type Delivery,
  type DeliveryFacts,
  type QueueMessage,
} from "./delivery.ts";
import type { Work } from "./in-flight.ts";
import { headerOf } from "./message-headers.ts";
import type { Receipt } from "./receipt.ts";
import { inSpan, type WorkSpan } from "./tracing.ts";

/** The number of retries of a failed renewal between two regular ones. */
const RETRIES = 4;
/** The rest of a message whose delivery failed. */
const BACKOFF = { firstMs: 1_000, mostMs: 8_000 };

/** One message in progress: renews it while the handler runs, then reports the outcome to the queue. */
export class ActiveDelivery implements Work {
  readonly #connection: Connection;
  readonly #message: QueueMessage;
  readonly #receipt: Receipt;
  readonly #options: ConsumeOptions;
  readonly #callers: VerifiedCallers;
  readonly #controller = new AbortController();
  #delivery: Delivery | null = null;
  #isOurs = true;
  #isStopped = false;
  /** True when the message is no longer renewed. */
  #isEnded = false;
  #renewals: NodeJS.Timeout | null = null;
  /** The time of the request for the last successful renewal, by a monotonic clock. */
  #keptAt = performance.now();
  #hasFailed = false;

  constructor(
    connection: Connection,
    received: { readonly message: QueueMessage; readonly receipt: Receipt },
    { callers, ...options }: ConsumeOptions & { readonly callers: VerifiedCallers },
  ) {
    this.#connection = connection;
    this.#message = received.message;
    this.#receipt = received.receipt;
    this.#options = options;
    this.#callers = callers;
  }

  /** Never rejects. */
  run(): Promise<void> {
    const { subject } = this.#message;
    const parent = headerOf(this.#message, HEADERS.traceparent);
    // A subject ends in ids, so the span is named after the consumer, whose name is always the same.
    const facts = {
      name: `process ${this.#options.consumer.name}`,
      kind: "consumer",
      parent,
      user: this.#connection.user,
    } as const;
    const attributes = { "messaging.system": "nats", "messaging.destination.name": subject };
    return inSpan({ ...facts, attributes }, (span) => this.#work(span));
  }

  async #work(span: WorkSpan): Promise<void> {
    const { onFault } = this.#options;
    const { subject } = this.#message;
    let facts: DeliveryFacts | null = null;
    this.#renewIn(this.#everyMs);
    try {
      const work = { signal: this.#controller.signal, traceparent: span.traceparent };
      facts = factsOf(this.#message, this.#receipt.facts(), work);
      const content = await contentOf(
        this.#message,
        this.#options.commands,
        this.#connection.claims,
      );
      const delivery: Delivery =
        content.kind === "command"
          ? await this.#withCaller(content, facts)
          : { ...content, ...facts };
      this.#delivery = delivery;
      await this.#settle(await this.#options.handle(delivery));
    } catch (error) {
      span.fail(error instanceof Error ? error.name : "unknown");
      // A handler that stops because its message was taken away or the process stops is not a fault.
      if (!this.#controller.signal.aborted) onFault({ error, subject });
      this.#giveBack(this.#isStopped ? 0 : backoffMs(facts?.deliveryCount ?? 1, BACKOFF));
    } finally {
      this.#endRenewals();
    }
  }

  /** Rejects when the caller cannot be verified now: the message can be retried. */
  async #withCaller(content: CommandContent, facts: DeliveryFacts): Promise<Delivery> {
    try {
      const { caller } = await this.#callers.find({
        userToken: headerOf(this.#message, HEADERS.user),
        natsUser: facts.caller,
        contract: content.contract,
        storedAt: facts.publishedAt.getTime(),
      });
      return { ...content, ...facts, caller };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "forbidden") throw error;
      return { ...refusedContent(content, error.message), ...facts };
    }
  }

  abort(): void {
    this.#isStopped = true;
    this.#endRenewals();
    this.#controller.abort(new DOMException("the consumer stops", "AbortError"));
  }

  async #settle(outcome: Outcome): Promise<void> {
    if (!this.#isOurs) return;
    switch (outcome.outcome) {
      case "done":
        return this.#confirm("+ACK");
      case "left":
        return;
      case "drop":
        return this.#confirm(`+TERM ${cutText(outcome.reason.replaceAll(/[\r\n]/g, " "), 500)}`);
      case "retry":
        return this.#giveBack(outcome.delayMs);
      default:
        return outcome satisfies never;
    }
  }

  /** Acknowledges and waits until the server has stored it. A lost confirmation means one more delivery. */
  async #confirm(body: string): Promise<void> {
    try {
      await this.#receipt.confirm(body);
    } catch (error) {
      this.#options.onFault({ error, subject: this.#message.subject });
    }
  }

  #giveBack(delayMs: number): void {
    if (this.#isOurs) this.#receipt.giveBack(delayMs);
  }

  get #everyMs(): number {
    return this.#options.consumer.ackWaitMs / 3;
  }

  #renewIn(ms: number): void {
    this.#renewals = setTimeout(() => void this.#renew(), ms);
  }

  /** A failed renewal is retried: this process holds the message until the ack wait is over, after which another replica may have it. */
  async #renew(): Promise<void> {
    const askedAt = performance.now();
    const leftMs = this.#keptAt + this.#options.consumer.ackWaitMs - askedAt;
    const late = setTimeout(() => this.#lose("no renewal succeeded in time"), Math.max(0, leftMs));
    let isKept = false;
    try {
      isKept = await this.#askToRenew();
    } catch (error) {
      if (!this.#hasFailed) this.#options.onFault({ error, subject: this.#message.subject });
      this.#hasFailed = true;
      if (leftMs <= 0) this.#lose("no renewal succeeded in time");
    } finally {
      clearTimeout(late);
    }
    if (!this.#isOurs || this.#isEnded) return;
    if (!isKept) return this.#renewIn(this.#everyMs / RETRIES);
    this.#keptAt = askedAt;
    this.#hasFailed = false;
    this.#receipt.keep();
    this.#renewIn(this.#everyMs);
  }

  async #askToRenew(): Promise<boolean> {
    const { renew } = this.#options;
    const delivery = this.#delivery; // null while its payload is fetched
    if (renew !== undefined && delivery !== null && !(await renew(delivery)))
      this.#lose("the renewal was refused");
    return true;
  }

  #endRenewals(): void {
    this.#isEnded = true;
    if (this.#renewals !== null) clearTimeout(this.#renewals);
  }

  #lose(why: string): void {
    this.#isOurs = false;
    this.#endRenewals();
    this.#controller.abort(
      new DOMException(`${why}; another process has the message`, "AbortError"),
    );
  }
}

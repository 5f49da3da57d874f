import { createInbox, nanos, type Msg, type Subscription } from "@nats-io/transport-node";
import { ServiceError } from "@switchyard/contracts/errors";
import type { ConsumerDefinition } from "@switchyard/topology/streams";
import type { Connection, ConnectionListener } from "./connection.ts";
import { drainSubscription } from "./drain-subscription.ts";
import { forbidden } from "./infrastructure-errors.ts";
import { giveBack } from "./receipt.ts";

interface PullLoopOptions {
  readonly consumer: Pick<ConsumerDefinition, "stream" | "name">;
  readonly freeSlots: () => number;
  readonly onMessage: (message: Msg) => void;
  /** The consumer cannot be pulled from, and the loop retries. Called once per outage. */
  readonly onTrouble: (error: unknown) => void;
  /**
   * Set for a loop that pulls only what is stored: called once, when the server answers that nothing is left, behind the last message.
   * The loop sends no request after that.
   */
  readonly onEnd?: () => void;
}

/** One pull request that the server holds. */
interface Pull {
  readonly id: string;
  /** Messages that it may still deliver. */
  remaining: number;
  lastSign: number;
}

/** Short, because the server continues to deliver to the pull of a process that is frozen. */
const PULL_EXPIRES_MS = 3_000;
const HEARTBEAT_MS = 1_000;
const SILENCE_MS = 2 * HEARTBEAT_MS + 1_000;
const PAUSE_MS = { first: 250, most: 5_000 };

/**
 * Keeps one pull request at the server for exactly the free slots, so that no message waits in this process while another replica has
 * nothing to do. A filled or expired pull is followed by the next; a pull without heartbeats is given up; any refusal is followed by a
 * growing pause.
 *
 * Wire protocol: ADR-13, https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-13.md
 */
export class PullLoop implements ConnectionListener {
  readonly #connection: Connection;
  readonly #options: PullLoopOptions;
  readonly #inbox: string;
  readonly #apiSubject: string;
  readonly #subscription: Subscription;
  readonly #watchdog: NodeJS.Timeout;
  #pull: Pull | null = null;
  #pulls = 0;
  #pause: NodeJS.Timeout | null = null;
  #pauseMs = PAUSE_MS.first;
  #isTroubled = false;
  #isStopped = false;

  constructor(connection: Connection, options: PullLoopOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#inbox = createInbox(connection.inboxPrefix);
    this.#apiSubject = `$JS.API.CONSUMER.MSG.NEXT.${options.consumer.stream}.${options.consumer.name}`;
    this.#subscription = connection.nc.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#receive(message);
        else this.#refused(forbidden("subscribe", connection.user, this.#inbox));
      },
    });
    this.#watchdog = setInterval(() => this.#checkSilence(), HEARTBEAT_MS);
    connection.listeners.add(this);
    this.#next();
  }

  slotFreed(): void {
    this.#next();
  }

  disconnected(): void {
    this.#pull = null;
  }

  reconnected(): void {
    this.#endPause();
    this.#next();
  }

  publishRefused(subject: string): void {
    if (subject === this.#apiSubject)
      this.#refused(forbidden("publish", this.#connection.user, subject));
  }

  /** Stops pulling; messages in flight are released for other replicas at once. */
  async stop(): Promise<void> {
    this.close();
    await drainSubscription(this.#connection.nc, this.#subscription);
  }

  /** Stops pulling without notifying the server. */
  close(): void {
    this.#isStopped = true;
    this.#connection.listeners.delete(this);
    clearInterval(this.#watchdog);
    this.#endPause();
  }

  #next(): void {
    if (
      this.#isStopped ||
      this.#pull !== null ||
      this.#pause !== null ||
      !this.#connection.isConnected()
    )
      return;
    const batch = this.#options.freeSlots();
    if (batch <= 0) return;
    this.#pulls += 1;
    const id = `${this.#inbox}.${this.#pulls}`;
    this.#pull = { id, remaining: batch, lastSign: performance.now() };
    const request =
      this.#options.onEnd === undefined
        ? { batch, expires: nanos(PULL_EXPIRES_MS), idle_heartbeat: nanos(HEARTBEAT_MS) }
        : { batch, no_wait: true };
    this.#connection.nc.publish(this.#apiSubject, JSON.stringify(request), { reply: id });
  }

  #receive(message: Msg): void {
    if (message.subject.startsWith(this.#inbox)) this.#takeStatus(message);
    else this.#takeMessage(message);
  }

  #takeMessage(message: Msg): void {
    this.#works();
    const pull = this.#pull;
    if (pull !== null) {
      pull.lastSign = performance.now();
      pull.remaining -= 1;
      if (pull.remaining === 0) this.#pull = null;
    }
    // A pull that was given up may still deliver a message: without a free slot it is left to another replica.
    if (this.#isStopped || this.#options.freeSlots() <= 0) giveBack(this.#connection, message, 0);
    else this.#options.onMessage(message);
    this.#next();
  }

  #takeStatus(message: Msg): void {
    if (this.#pull === null || message.subject !== this.#pull.id) return; // of a pull that is over
    const code = message.headers?.code ?? 0;
    switch (code) {
      case 100: // idle heartbeat
        this.#pull.lastSign = performance.now();
        this.#works();
        return;
      case 404: // no messages
        this.#works();
        this.#pull = null;
        if (this.#options.onEnd === undefined) this.#next();
        else this.#end(this.#options.onEnd);
        return;
      case 408: // expired
        // A request without `expires` gets it while the server still holds an earlier one, which was given up here.
        if (this.#options.onEnd !== undefined) break;
        this.#works();
        this.#pull = null;
        this.#next();
        return;
      default:
    }
    this.#refused(this.#refusal(code, message.headers?.description ?? ""));
  }

  #end(onEnd: () => void): void {
    this.close();
    onEnd();
  }

  #refusal(code: number, description: string): ServiceError {
    const { stream, name } = this.#options.consumer;
    const hint =
      code === 503
        ? "the consumer is missing (create it with `yard streams ensure`) or JetStream is not ready"
        : description;
    return new ServiceError(
      "no_responders",
      `cannot pull from consumer ${name} of stream ${stream}: ${hint}; trying on`,
      {
        data: { code, description },
      },
    );
  }

  #refused(error: ServiceError): void {
    this.#pull = null;
    if (this.#isStopped || this.#pause !== null) return;
    if (!this.#isTroubled) this.#options.onTrouble(error);
    this.#isTroubled = true;
    this.#pause = setTimeout(() => {
      this.#pause = null;
      this.#next();
    }, this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS.most);
  }

  #works(): void {
    this.#isTroubled = false;
    this.#pauseMs = PAUSE_MS.first;
  }

  #endPause(): void {
    if (this.#pause !== null) clearTimeout(this.#pause);
    this.#pause = null;
  }

  #checkSilence(): void {
    if (this.#pull === null || performance.now() - this.#pull.lastSign < SILENCE_MS) return;
    this.#pull = null;
    this.#next();
  }
}

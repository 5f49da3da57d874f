import type { Msg } from "@nats-io/transport-node";
import type { Bus } from "./bus.ts";
import { connectionOf, type Connection, type Receiver } from "./connection.ts";
import { ActiveDelivery } from "./active-delivery.ts";
import { verifiedCallersOf, type VerifiedCallers } from "./verified-caller.ts";
import type { ConsumeOptions, QueueMessage } from "./delivery.ts";
import { InFlight } from "./in-flight.ts";
import { PullLoop } from "./pull-loop.ts";
import type { Lane } from "./lane-turns.ts";
import { ReadAhead, type EarlyMessage } from "./read-ahead.ts";
import { QueueReceipt, type Receipt } from "./receipt.ts";

export interface Consumption {
  readonly inFlight: number;
  /**
   * Stops pulling, releases the messages that were not begun, then waits for the work; after `deadlineMs` (default 20,000) aborts its
   * signals.
   */
  stop(deadlineMs?: number): Promise<void>;
}

const STOP_MS = 20_000;
/**
 * A message that is delivered in its turn while this process still works on it, because it was taken early, is delivered again after that
 * time.
 */
const IN_WORK_MS = 2_000;

/**
 * Handles the messages of a durable consumer. Connection losses and server restarts only pause it. With lanes, messages may come before
 * their turn: {@link DeliveryFacts.isEarly}.
 */
export function consume(bus: Bus, options: ConsumeOptions): Consumption {
  if (!Number.isInteger(options.concurrency) || options.concurrency < 1) {
    throw new RangeError(
      `concurrency must be a whole number of at least 1, got ${options.concurrency}`,
    );
  }
  return new BusConsumption(connectionOf(bus), { ...options, callers: verifiedCallersOf(bus) });
}

interface Received {
  readonly message: QueueMessage;
  readonly receipt: Receipt;
  /** Called when its work has ended. */
  readonly ended?: (() => void) | undefined;
}

class BusConsumption implements Consumption, Receiver {
  readonly #connection: Connection;
  readonly #options: ConsumeOptions & { readonly callers: VerifiedCallers };
  readonly #running = new InFlight();
  readonly #pulls: PullLoop;
  /** Null for a queue without lanes. */
  readonly #ahead: ReadAhead | null;
  /** Slots that are reserved for what a read-ahead may find. */
  #kept = 0;
  #stopping: Promise<void> | null = null;

  constructor(
    connection: Connection,
    options: ConsumeOptions & { readonly callers: VerifiedCallers },
  ) {
    this.#connection = connection;
    this.#options = options;
    const { consumer, concurrency } = options;
    const { lanes } = consumer;
    const onTrouble = (error: unknown): void =>
      options.onFault({ error, subject: consumer.filterSubject });
    this.#ahead =
      lanes === undefined
        ? null
        : new ReadAhead(connection, {
            consumer,
            lanes,
            onTrouble,
            onArrival: (lane) => this.#makeRoom(lane),
          });
    this.#pulls = new PullLoop(connection, {
      consumer,
      freeSlots: () => concurrency - this.#running.size - this.#kept,
      onMessage: (message) => this.#receive(message),
      onTrouble,
    });
    connection.receivers.add(this);
  }

  get inFlight(): number {
    return this.#running.size;
  }

  stop(deadlineMs: number = STOP_MS): Promise<void> {
    this.#stopping ??= this.#stop(deadlineMs);
    return this.#stopping;
  }

  async #stop(deadlineMs: number): Promise<void> {
    this.#ahead?.close();
    await this.#pulls.stop();
    await this.#running.settle(deadlineMs);
    this.#connection.receivers.delete(this);
  }

  closed(): void {
    this.#ahead?.close();
    this.#pulls.close();
    this.#running.abort();
  }

  #receive(message: Msg): void {
    const receipt = new QueueReceipt(this.#connection, message);
    const known = this.#ahead?.delivered(message) ?? { outcome: "take", ended: undefined };
    if (known.outcome === "take") this.#start({ message, receipt, ended: known.ended });
    else if (known.isDone) this.#confirm(receipt, message.subject);
    else receipt.giveBack(IN_WORK_MS);
  }

  #start(received: Received): void {
    const active = new ActiveDelivery(this.#connection, received, this.#options);
    const running = this.#running.begin(active);
    void active.run().finally(() => {
      this.#running.end(running);
      received.ended?.();
      this.#next();
    });
  }

  /** Gives a slot to the lane whose turn it is, or to the queue. */
  #next(): void {
    const looking = this.#stopping === null ? (this.#ahead?.look() ?? null) : null;
    if (looking === null) this.#pulls.slotFreed();
    else void this.#keepFor(looking);
  }

  /** While all slots are taken, a lane without one gets an extra slot at once; it is paid back with the next one that becomes free. */
  #makeRoom(lane: Lane): void {
    const ahead = this.#ahead;
    const left = this.#options.concurrency - this.#running.size - this.#kept;
    if (ahead === null || this.#stopping !== null || left < 0) return;
    // With a slot free and no other backlog, the queue delivers it.
    if (left === 0 || ahead.hasBacklog) void this.#keepFor(ahead.seek(lane));
  }

  async #keepFor(looking: Promise<EarlyMessage | null>): Promise<void> {
    this.#kept += 1;
    const early = await looking;
    this.#kept -= 1;
    if (early !== null && this.#stopping === null) this.#start(early);
    this.#pulls.slotFreed();
  }

  #confirm(receipt: Receipt, subject: string): void {
    receipt.confirm("+ACK").catch((error: unknown) => this.#options.onFault({ error, subject }));
  }
}

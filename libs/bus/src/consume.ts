import type { Command } from "@switchyard/contracts/define";
import type { ConsumerDefinition } from "@switchyard/contracts/streams";
import type { Msg } from "@nats-io/transport-node";
import type { Bus } from "./connect.ts";
import { connectionOf, type Connection, type Intake } from "./connection.ts";
import { ActiveDelivery } from "./active-delivery.ts";
import type { Delivery } from "./delivery.ts";
import { InFlight } from "./in-flight.ts";
import { PullLoop } from "./pull-loop.ts";

export type { Delivery } from "./delivery.ts";

/** What becomes of a message. */
export type Outcome =
  | { readonly outcome: "done" }
  | { readonly outcome: "retry"; readonly delayMs: number }
  | { readonly outcome: "drop"; readonly reason: string };

export interface ConsumeOptions {
  readonly consumer: ConsumerDefinition;
  /** What the messages may be; anything else arrives as a rejected delivery. */
  readonly commands: readonly Command[];
  /** Deliveries in work at a time; never more messages than free slots are pulled. */
  readonly concurrency: number;
  /** A throw means: try again later (capped exponential backoff), and `onFault` hears it. */
  readonly handle: (delivery: Delivery) => Promise<Outcome>;
  /**
   * Asked every third of the ack wait while a delivery is in work. False or a throw aborts the
   * delivery's signal, and its message is left alone: it belongs to somebody else by now.
   */
  readonly renew?: (delivery: Delivery) => Promise<boolean>;
  readonly onFault: (fault: { error: unknown; subject: string }) => void;
}

export interface Consumption {
  readonly inFlight: number;
  /**
   * Stops pulling, gives back what was not begun, then waits for the work; after `deadlineMs`
   * (default 20,000) aborts its signals.
   */
  stop(deadlineMs?: number): Promise<void>;
}

const STOP_MS = 20_000;

/** Works off a durable consumer. Connection losses and server restarts only pause it. */
export function consume(bus: Bus, options: ConsumeOptions): Consumption {
  if (!Number.isInteger(options.concurrency) || options.concurrency < 1) {
    throw new RangeError(
      `concurrency must be a whole number of at least 1, got ${options.concurrency}`,
    );
  }
  return new BusConsumption(connectionOf(bus), options);
}

class BusConsumption implements Consumption, Intake {
  readonly #connection: Connection;
  readonly #options: ConsumeOptions;
  readonly #running = new InFlight();
  readonly #pulls: PullLoop;
  #stopping: Promise<void> | null = null;

  constructor(connection: Connection, options: ConsumeOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#pulls = new PullLoop(connection, {
      consumer: options.consumer,
      freeSlots: () => options.concurrency - this.#running.size,
      onMessage: (message) => this.#start(message),
      onTrouble: (error) => options.onFault({ error, subject: options.consumer.filterSubject }),
    });
    connection.intakes.add(this);
  }

  get inFlight(): number {
    return this.#running.size;
  }

  stop(deadlineMs: number = STOP_MS): Promise<void> {
    this.#stopping ??= this.#stop(deadlineMs);
    return this.#stopping;
  }

  async #stop(deadlineMs: number): Promise<void> {
    await this.#pulls.stop();
    await this.#running.settle(deadlineMs);
    this.#connection.intakes.delete(this);
  }

  closed(): void {
    this.#pulls.close();
    this.#running.abort();
  }

  #start(message: Msg): void {
    const active = new ActiveDelivery(this.#connection, message, this.#options);
    const running = this.#running.begin(active);
    void active.run().finally(() => {
      this.#running.end(running);
      this.#pulls.slotFreed();
    });
  }
}

import type { Bus } from "@switchyard/bus/connect";
import { publishEvent } from "@switchyard/bus/publish";
import { isOutage } from "../peers.ts";
import { backoffMs, pause } from "../run/interruption.ts";
import type { RunEvent } from "./run-events.ts";

const RETRY_CAP_MS = 1_000;

/**
 * Publishes the events of one run in their order, behind the run's back: the journal already has
 * the facts, so a run need not wait. The message id is the event's number, so an event that two
 * runners publish is stored once.
 */
export class EventPublisher {
  readonly #bus: Bus;
  readonly #runId: string;
  readonly #signal: AbortSignal;
  #published: number;
  #tail: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | null = null;

  /** `published` is the number of events that are surely in the stream; earlier ones are skipped. */
  constructor(options: { bus: Bus; runId: string; published: number; signal: AbortSignal }) {
    this.#bus = options.bus;
    this.#runId = options.runId;
    this.#published = options.published;
    this.#signal = options.signal;
  }

  /** Number of the last event that the stream has acknowledged. */
  get published(): number {
    return this.#published;
  }

  push(events: readonly RunEvent[]): void {
    for (const event of events) {
      if (event.seq <= this.#published) continue;
      this.#tail = this.#tail.then(() => this.#publish(event));
    }
  }

  /** Resolves when everything pushed is in the stream; rejects when an event could not be published. */
  async drain(): Promise<void> {
    await this.#tail;
    if (this.#failure !== null) throw this.#failure.error;
  }

  async #publish(event: RunEvent): Promise<void> {
    if (this.#failure !== null) return;
    try {
      await this.#publishUntilStored(event);
      this.#published = event.seq;
    } catch (error) {
      this.#failure = { error };
    }
  }

  async #publishUntilStored({ contract, seq, payload }: RunEvent): Promise<void> {
    const runId = this.#runId;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await publishEvent(this.#bus, contract, { runId }, payload, {
          messageId: `${runId}:${seq}`,
          correlationId: runId,
        });
        return;
      } catch (error) {
        if (!isOutage(error)) throw error;
        await pause(backoffMs(attempt, RETRY_CAP_MS), this.#signal);
      }
    }
  }
}

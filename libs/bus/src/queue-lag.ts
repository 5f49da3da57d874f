import { JetStreamApiError, jetstreamManager } from "@nats-io/jetstream";
import { allConsumers, allStreams } from "@switchyard/topology/streams";
import type { Bus } from "./bus.ts";
import { connectionOf } from "./connection.ts";
import { infrastructureError } from "./infrastructure-errors.ts";

/** A work queue of a stream. */
export interface QueueLag {
  readonly name: string;
  /** Messages that were not delivered yet. */
  readonly waiting: number;
  /** Messages that were delivered and are not finished. */
  readonly inWork: number;
  /** Messages in progress that were delivered more than once. */
  readonly redelivered: number;
}

export interface StreamLag {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  /** -1: no limit. */
  readonly maxBytes: number;
  readonly queues: readonly QueueLag[];
}

const NOT_FOUND = new Set([10_014, 10_059]);

/** Returns the length of each stream and of its work queues; missing ones are left out. Rejects with a ServiceError. */
export async function queueLags(bus: Bus): Promise<StreamLag[]> {
  const { nc, user } = connectionOf(bus);
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    const found = await Promise.all(
      allStreams.map(async ({ name }): Promise<StreamLag | null> => {
        const stream = await orNull(() => manager.streams.info(name));
        if (stream === null) return null;
        const queues = await Promise.all(
          allConsumers
            .filter((consumer) => consumer.stream === name)
            .map((consumer) => orNull(() => manager.consumers.info(name, consumer.name))),
        );
        return {
          name,
          messages: stream.state.messages,
          bytes: stream.state.bytes,
          maxBytes: stream.config.max_bytes,
          queues: queues
            .filter((queue) => queue !== null)
            .map((queue) => ({
              name: queue.name,
              waiting: queue.num_pending,
              inWork: queue.num_ack_pending,
              redelivered: queue.num_redelivered,
            })),
        };
      }),
    );
    return found.filter((stream) => stream !== null);
  } catch (error) {
    throw infrastructureError(error, user, "the streams");
  }
}

async function orNull<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof JetStreamApiError && NOT_FOUND.has(error.code)) return null;
    throw error;
  }
}

import { JetStreamApiError } from "@nats-io/jetstream";
import type { ConsumerDefinition } from "@switchyard/topology/streams";
import { infrastructureError } from "./infrastructure-errors.ts";

/** Error codes in nats-server's errors.json. */
export const STREAM_NOT_FOUND = 10_059;
export const CONSUMER_NOT_FOUND = 10_014;

/** The result of `read`, or null when the server answers with one of the codes. */
export async function orNull<T>(
  read: () => Promise<T>,
  codes: readonly number[],
): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof JetStreamApiError && codes.includes(error.code)) return null;
    throw error;
  }
}

/** Rejects with a ServiceError that names the object that could not be read or made. */
export async function named<T>(user: string, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw infrastructureError(error, user, name);
  }
}

/** The name of a consumer in messages: with its stream. */
export function labelOf(consumer: ConsumerDefinition): string {
  return `${consumer.stream}/${consumer.name}`;
}

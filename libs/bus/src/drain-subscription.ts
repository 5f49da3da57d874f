import { within } from "@switchyard/contracts/timeouts";
import type { NatsConnection, Subscription } from "@nats-io/transport-node";

/** A server that neither answers nor goes away must not hold up a shutdown longer than this, in milliseconds. */
const TIMEOUT_MS = 2_000;

/** Unsubscribes and returns when everything the server had already sent was handed over. */
export async function drainSubscription(
  nc: NatsConnection,
  subscription: Subscription,
): Promise<void> {
  if (subscription.isClosed() || nc.isClosed()) return;
  await withDeadline(subscription.drain());
}

/** Returns when the server has everything that was sent. */
export async function flushConnection(nc: NatsConnection): Promise<void> {
  if (nc.isClosed()) return;
  await withDeadline(nc.flush());
}

async function withDeadline(work: Promise<void>): Promise<void> {
  try {
    await within(work, { ms: TIMEOUT_MS });
  } catch {
    // The connection went away: nothing is left to wait for.
  }
}

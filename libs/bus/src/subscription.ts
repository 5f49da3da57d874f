import type { SubscriptionOptions } from "@nats-io/transport-node";
import type { Connection, Receiver } from "./connection.ts";

/** A subscription of NATS that ends when it is stopped, and with the bus. */
export function subscribe(
  { nc, receivers }: Connection,
  subject: string,
  options: SubscriptionOptions,
): { stop(): void } {
  const subscription = nc.subscribe(subject, options);
  const stop = (): void => {
    receivers.delete(receiver);
    if (!subscription.isClosed()) subscription.unsubscribe();
  };
  const receiver: Receiver = { stop: () => Promise.resolve(stop()), closed: () => {} };
  receivers.add(receiver);
  return { stop };
}

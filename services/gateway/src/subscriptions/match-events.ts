import { createHash } from "node:crypto";
import { hasPassed, placeOf, type EventPlace } from "@switchyard/bus/event-place";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { matchesGlob } from "@switchyard/contracts/glob";
import { tokensOf } from "@switchyard/contracts/define";
import { deliveryIdOf, type Subscription, type WebhookDelivery } from "./subscription-store.ts";

/** Larger events are delivered without their data; the receiver can read it. */
const MOST_DATA_BYTES = 64 * 1024;

/**
 * Returns the deliveries of an event. `agentOf` resolves with the agent of the event's run; null: the event has no run, or the
 * agent is unknown.
 */
export async function deliveriesOf(
  event: StoredEvent,
  subscriptions: readonly Subscription[],
  { now, agentOf }: { now: number; agentOf: (event: StoredEvent) => Promise<string | null> },
): Promise<WebhookDelivery[]> {
  const { contract, subject, time, payload } = event;
  if (contract === null) return [];
  const tokens: Readonly<Record<string, string>> | null = tokensOf(contract, subject);
  const owner = tokens?.["owner"];
  if (owner === undefined) return [];
  const place = placeOf(event);
  const wanted = subscriptions.filter(
    (one) =>
      one.owner === owner &&
      one.webhook.status === "enabled" &&
      !hasPassed(beginOf(one), place) &&
      one.webhook.events.some((pattern) => matchesGlob(pattern, contract.name)),
  );
  if (wanted.length === 0) return [];
  const isOfAgents = wanted.some(({ webhook }) => webhook.agent !== null);
  const agent = isOfAgents ? await agentOf(event) : null;
  const data = JSON.stringify(payload);
  // The digest leaves out the position: an event that the stream lost and that is published again has another one, and is the same to the receiver.
  const digest = createHash("sha256").update(`${subject}\n${data}`).digest("hex").slice(0, 24);
  const isLarge = Buffer.byteLength(data) > MOST_DATA_BYTES;
  const body = JSON.stringify({
    type: contract.name,
    timestamp: time.toISOString(),
    data: isLarge ? null : payload,
    ...(isLarge && { truncated: true, ...tokens }),
  });
  return wanted
    .filter(({ webhook }) => webhook.agent === null || webhook.agent === agent)
    .map(({ webhook: { id: webhookId } }) => ({
      id: deliveryIdOf(digest, webhookId),
      webhookId,
      event: contract.name,
      body,
      attempts: 0,
      error: null,
      at: now,
    }));
}

/** The position after which the events of the subscription begin. */
function beginOf({ after, afterMs }: Subscription): EventPlace {
  return { sequence: after, storedAtMs: afterMs };
}

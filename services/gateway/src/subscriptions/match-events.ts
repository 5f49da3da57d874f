import type { StoredEvent } from "@switchyard/bus/events";
import { matchesGlob } from "@switchyard/contracts/glob";
import { tokensOf } from "@switchyard/contracts/define";
import type { Subscription, WebhookDelivery } from "./subscription-store.ts";

/** Larger events are delivered without their data; the receiver can read it. */
const MOST_DATA_BYTES = 64 * 1024;

/** The deliveries that an event becomes. `agentOf` names the agent of the run that an event is about; null: of no run, or unknown. */
export async function deliveriesOf(
  event: StoredEvent,
  subscriptions: readonly Subscription[],
  { now, agentOf }: { now: number; agentOf: (event: StoredEvent) => Promise<string | null> },
): Promise<WebhookDelivery[]> {
  const { contract, sequence, time, payload } = event;
  if (contract === null) return [];
  const tokens: Readonly<Record<string, string>> | null = tokensOf(contract, event.subject);
  const owner = tokens?.["owner"];
  if (owner === undefined) return [];
  const wanted = subscriptions.filter(
    (one) =>
      one.owner === owner &&
      one.webhook.status === "enabled" &&
      sequence > one.after &&
      one.webhook.events.some((pattern) => matchesGlob(pattern, contract.name)),
  );
  if (wanted.length === 0) return [];
  const isOfAgents = wanted.some(({ webhook }) => webhook.agent !== null);
  const agent = isOfAgents ? await agentOf(event) : null;
  const data = JSON.stringify(payload);
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
      id: `msg_${sequence}_${webhookId.slice(4)}`,
      webhookId,
      event: contract.name,
      body,
      attempts: 0,
      error: null,
      at: now,
    }));
}

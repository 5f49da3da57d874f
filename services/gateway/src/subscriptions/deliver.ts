import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { Log } from "@switchyard/service/log";
import type { Webhook } from "../routes/webhook-operations.ts";
import { sendWebhook } from "./send-webhook.ts";
import type { Subscription, SubscriptionStore, WebhookDelivery } from "./subscription-store.ts";

export interface DeliverParts {
  readonly store: SubscriptionStore;
  readonly guard: EgressGuard;
  readonly log: Log;
  readonly now: () => number;
  /** Before the second attempt; each one later is four times as far away. */
  readonly retryMs: number;
  readonly disableAfterMs: number;
}

export interface Deliveries {
  /** Something may be due at once. */
  wake(): void;
  /** Resolves when attempts under way have ended. */
  stop(): Promise<void>;
}

const ATTEMPTS = 8;
const AT_ONCE = 64;
/** So that the addresses of one caller that do not answer take no place from others. */
const AT_ONCE_OF_OWNER = 16;
const WAITS_MS = 100;
const LOOK_MS = 1_000;

/** Sends what is due, on every replica: each delivery is with one of them at a time. */
export function deliverDue(parts: DeliverParts): Deliveries {
  const { store, log, now } = parts;
  const underWay = new Map<Promise<void>, string>();
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | null = null;
  let isAsked = false;

  const begin = (subscription: Subscription, delivery: WebhookDelivery): void => {
    const attempt = attemptDelivery(parts, subscription, delivery)
      // It is taken again when its time with this replica is over.
      .catch((err: unknown) => log.warn({ err, webhook: delivery.webhookId }, "webhook not noted"))
      .finally(() => {
        underWay.delete(attempt);
        wake();
      });
    underWay.set(attempt, subscription.owner);
  };
  const look = async (): Promise<void> => {
    const room = AT_ONCE - underWay.size;
    if (room <= 0) return;
    for (const delivery of await store.take(now(), room)) {
      const subscription = await store.find(delivery.webhookId);
      if (subscription === null) {
        await store.done(delivery);
        continue;
      }
      if (subscription.webhook.status === "disabled") {
        const error = delivery.error ?? `not sent: the webhook is disabled`;
        await store.giveUp({ ...delivery, error, at: now() }, now());
        continue;
      }
      const { owner } = subscription;
      const own = [...underWay.values()].filter((one) => one === owner).length;
      if (own >= AT_ONCE_OF_OWNER) await store.again(delivery, now() + WAITS_MS);
      else begin(subscription, delivery);
    }
  };
  const wake = (): void => {
    if (isStopped) return;
    isAsked = true;
    if (looking !== null) return;
    isAsked = false;
    clearTimeout(timer);
    looking = look()
      .catch((err: unknown) => log.warn({ err }, "webhooks that are due cannot be read"))
      .finally(() => {
        looking = null;
        if (isAsked) wake();
        else if (!isStopped) timer = setTimeout(wake, LOOK_MS);
      });
  };
  wake();
  return {
    wake,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await looking;
      await Promise.all(underWay.keys());
    },
  };
}

async function attemptDelivery(
  parts: DeliverParts,
  subscription: Subscription,
  delivery: WebhookDelivery,
): Promise<void> {
  const { store, log, now } = parts;
  const sent = await sendWebhook(parts.guard, subscription, delivery);
  if (sent.outcome === "delivered") {
    await store.done(delivery);
    await note(parts, subscription, { failingSince: null, lastError: null });
    return;
  }
  const { error } = sent;
  const attempts = delivery.attempts + 1;
  const failed = { ...delivery, attempts, error, at: now() };
  const { id } = subscription.webhook;
  const reason = await note(parts, subscription, { error, isGone: sent.outcome === "gone" });
  if (reason !== null)
    log.warn({ webhook: id, owner: subscription.owner, reason }, "webhook disabled");
  if (reason !== null || attempts >= ATTEMPTS) await store.giveUp(failed, now());
  else await store.again(failed, now() + parts.retryMs * 4 ** (attempts - 1));
}

/** Writes down how a webhook is, when that is another way than it was. Returns why it is disabled from now on. */
async function note(
  { store, now, disableAfterMs }: DeliverParts,
  { webhook: { id } }: Subscription,
  how: { failingSince: null; lastError: null } | { error: string; isGone: boolean },
): Promise<Webhook["reason"]> {
  // As it is now: the attempt took a while.
  const current = await store.find(id);
  if (current === null) return null;
  const { webhook } = current;
  if (!("error" in how)) {
    if (webhook.failingSince !== null)
      await store.update({ ...current, webhook: { ...webhook, ...how } });
    return null;
  }
  const failingSince = webhook.failingSince ?? new Date(now()).toISOString();
  const isLong = now() - Date.parse(failingSince) >= disableAfterMs;
  const reason = how.isGone ? "gone" : isLong ? "failing" : webhook.reason;
  const status = reason === null ? webhook.status : "disabled";
  const changed: Webhook = { ...webhook, failingSince, lastError: how.error, status, reason };
  await store.update({ ...current, webhook: changed });
  return reason;
}

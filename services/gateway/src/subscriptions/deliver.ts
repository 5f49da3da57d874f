import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { Log } from "@switchyard/service/log";
import { startRounds } from "@switchyard/service/rounds";
import type { KeptWebhook } from "../routes/webhook-operations.ts";
import { afterAttempt, type AttemptFailure } from "./after-attempt.ts";
import { sendWebhook, type SendOutcome } from "./send-webhook.ts";
import type { Subscription, SubscriptionStore, WebhookDelivery } from "./subscription-store.ts";
import type { WebhookSecrets } from "./webhook-secrets.ts";

export interface DeliverParts {
  readonly store: SubscriptionStore;
  readonly secrets: WebhookSecrets;
  readonly guard: EgressGuard;
  readonly log: Log;
  readonly now: () => number;
  /** The delay before the second attempt; each later one is four times as long. */
  readonly retryMs: number;
  readonly disableAfterMs: number;
}

export interface Deliveries {
  /** Called when a delivery may be due at once. */
  wake(): void;
  /** Resolves when attempts under way have ended. */
  stop(): Promise<void>;
}

const ATTEMPTS = 8;
const AT_ONCE = 64;
/** The limit per owner, so that unresponsive addresses of one caller do not block the deliveries of others. */
const AT_ONCE_OF_OWNER = 16;
const WAITS_MS = 100;
const LOOK_MS = 1_000;

/** Sends due deliveries, on every replica: each delivery is claimed by one of them at a time. */
export function deliverDue(parts: DeliverParts): Deliveries {
  const { store, log, now } = parts;
  const underWay = new Map<Promise<void>, string>();
  const begin = (subscription: Subscription, delivery: WebhookDelivery): void => {
    const attempt = attemptDelivery(parts, subscription, delivery)
      // The delivery is claimed again when this replica's claim expires.
      .catch((err: unknown) => log.warn({ err, webhook: delivery.webhookId }, "webhook not noted"))
      .finally(() => {
        underWay.delete(attempt);
        void rounds.wake();
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
  const rounds = startRounds({
    everyMs: LOOK_MS,
    round: look,
    onError: (err) => log.warn({ err }, "webhooks that are due cannot be read"),
  });
  void rounds.wake();
  return {
    wake: () => void rounds.wake(),
    async stop() {
      await rounds.stop();
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
  const sent = await send(parts, subscription, delivery);
  if (sent.outcome === "delivered") {
    await store.done(delivery);
    await note(parts, subscription, null);
    return;
  }
  const { error, cause } = sent;
  if (cause !== undefined)
    log.debug({ err: cause, webhook: subscription.webhook.id }, "webhook delivery failed");
  const attempts = delivery.attempts + 1;
  const failed = { ...delivery, attempts, error, at: now() };
  const { id } = subscription.webhook;
  const reason = await note(parts, subscription, { error, isGone: sent.outcome === "gone" });
  if (reason !== null)
    log.warn({ webhook: id, owner: subscription.owner, reason }, "webhook disabled");
  if (reason !== null || attempts >= ATTEMPTS) await store.giveUp(failed, now());
  else await store.again(failed, now() + parts.retryMs * 4 ** (attempts - 1));
}

async function send(
  { guard, secrets, log }: DeliverParts,
  { webhook, secret: kept }: Subscription,
  delivery: WebhookDelivery,
): Promise<SendOutcome> {
  const { id } = webhook;
  let secret;
  try {
    secret = secrets.open(id, kept);
  } catch (err) {
    log.warn({ err, webhook: id }, "the secret of a webhook cannot be read");
    return { outcome: "failed", error: "not sent: the gateway has no key for the secret" };
  }
  return sendWebhook(guard, { secret, webhook }, delivery);
}

/** Stores the webhook's state when it has changed. Returns the reason when it is disabled. */
async function note(
  { store, now, disableAfterMs }: DeliverParts,
  { webhook: { id } }: Subscription,
  failure: AttemptFailure,
): Promise<KeptWebhook["reason"]> {
  const noted = await store.change(id, (one) => {
    const webhook = afterAttempt(one.webhook, failure, { now: now(), disableAfterMs });
    return webhook && { ...one, webhook };
  });
  return failure === null ? null : (noted?.webhook.reason ?? null);
}

import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { Log } from "@switchyard/service/log";
import { startRounds } from "@switchyard/service/rounds";
import { postWebhook, type WebhookOutcome } from "@switchyard/service/network/post-webhook";
import type { KeptWebhook } from "../routes/webhook-operations.ts";
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

/** The result of an attempt: null is success. */
export type AttemptFailure = { readonly error: string; readonly isGone: boolean } | null;

/**
 * Returns the webhook after an attempt; null when it did not change. It is disabled when its receiver is gone, and when no
 * delivery has succeeded for too long.
 */
export function afterAttempt(
  webhook: KeptWebhook,
  failure: AttemptFailure,
  { now, disableAfterMs }: { readonly now: number; readonly disableAfterMs: number },
): KeptWebhook | null {
  if (failure === null)
    return webhook.failingSince === null
      ? null
      : { ...webhook, failingSince: null, lastError: null };
  const failingSince = webhook.failingSince ?? new Date(now).toISOString();
  const isLong = now - Date.parse(failingSince) >= disableAfterMs;
  const reason = failure.isGone ? "gone" : isLong ? "failing" : webhook.reason;
  const status = reason === null ? webhook.status : "disabled";
  return { ...webhook, failingSince, lastError: failure.error, status, reason };
}

type SendOutcome =
  | { readonly outcome: "delivered" }
  /** `gone`: the receiver answered that the URL no longer exists. */
  | {
      readonly outcome: "gone" | "failed";
      /** The message for the owner of the webhook. */
      readonly error: string;
      /** The cause for the operator's log. */
      readonly cause?: unknown;
    };

const TIMEOUT_MS = 10_000;

/** Makes one signed attempt. Never rejects. */
export async function sendWebhook(
  guard: EgressGuard,
  { secret, webhook: { url } }: { readonly secret: string; readonly webhook: KeptWebhook },
  { id, body }: Pick<WebhookDelivery, "id" | "body">,
): Promise<SendOutcome> {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const sent = await postWebhook({
    guard,
    url,
    body,
    headers: { "user-agent": "switchyard-webhooks" },
    signing: { key, id, nowMs: Date.now() },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (sent.kind !== "answered")
    return { outcome: "failed", error: shownError(sent, url), cause: sent.error };
  const { status } = sent;
  if (status >= 200 && status < 300) return { outcome: "delivered" };
  const redirect = status >= 300 && status < 400 ? ", and redirects are not followed" : "";
  const error = `${new URL(url).host} answered ${status}${redirect}`;
  return { outcome: status === 410 ? "gone" : "failed", error };
}

/** Returns the error that the owner of the webhook may see: it reveals neither internal addresses of a name nor that the name has one. */
function shownError(
  { kind, error: { code = "" } }: Exclude<WebhookOutcome, { kind: "answered" }>,
  url: string,
): string {
  if (kind === "timeout") return `no answer within ${TIMEOUT_MS} ms`;
  const plain = Object.hasOwn(PLAIN, code) ? PLAIN[code] : undefined;
  return `${URL.parse(url)?.host ?? "the receiver"} ${plain ?? "cannot be reached from here"}`;
}

const PLAIN: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refused the connection",
  ECONNRESET: "closed the connection",
  EPIPE: "closed the connection",
  CERT_HAS_EXPIRED: "has a certificate that has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "has a certificate of an unknown issuer",
  SELF_SIGNED_CERT_IN_CHAIN: "has a certificate of an unknown issuer",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "has a certificate of an unknown issuer",
  ERR_TLS_CERT_ALTNAME_INVALID: "has a certificate of another name",
};

import { KEYS_SETTING } from "@switchyard/service/keys-directory";
import { createHash, randomBytes } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import { lastEventPlace } from "@switchyard/bus/last-event";
import { ServiceError } from "@switchyard/contracts/errors";
import { changedMessage } from "@switchyard/contracts/if-version";
import {
  createWebhook,
  getWebhook,
  listWebhooks,
  redeliverWebhook,
  removeWebhook,
  updateWebhook,
  type KeptWebhook,
  type Webhook,
} from "../routes/webhook-operations.ts";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import { storeFailureAs } from "@switchyard/service/store-error";
import type { OwnOperations } from "../routes/own-operations.ts";
import { type Subscription, type SubscriptionStore } from "./subscription-store.ts";
import type { WebhookSecrets } from "./webhook-secrets.ts";

export interface SubscriptionParts {
  readonly bus: Bus;
  readonly store: SubscriptionStore;
  readonly storage: Pick<OwnerStorage, "admit">;
  readonly secrets: WebhookSecrets;
  readonly guard: EgressGuard;
  readonly mostOfCaller: number;
  readonly now: () => number;
  /** Called when there may be events to read or deliveries to send. */
  readonly onChange: () => void;
}

export function serveSubscriptions(own: OwnOperations, parts: SubscriptionParts): void {
  const { store, storage, now } = parts;
  own.add(createWebhook, ({ url, events, agent }, caller) =>
    answering(async () => {
      checkTarget(url, parts.guard);
      const id = `whk-${randomBytes(8).toString("hex")}`;
      const made = parts.secrets.make(id);
      if (made === null)
        throw new ServiceError(
          "webhook_key_missing",
          `the gateway has no key to keep a secret with: let ${KEYS_SETTING} name a directory of yard keys init with webhooks.key, and start it again`,
          { data: { setting: KEYS_SETTING } },
        );
      const webhook: KeptWebhook = {
        id,
        url,
        events,
        agent: agent ?? null,
        createdAt: new Date(now()).toISOString(),
        status: "enabled",
        reason: null,
        failingSince: null,
        lastError: null,
      };
      await storage.admit(caller);
      const limit = parts.mostOfCaller;
      const { sequence: after, storedAtMs: afterMs } = await lastEventPlace(parts.bus);
      const subscription = { owner: caller, secret: made.kept, after, afterMs, webhook };
      if (!(await store.create(subscription, limit)))
        throw new ServiceError(
          "too_many_webhooks",
          `${caller} has ${limit} webhooks, which is the most: remove one`,
          {
            data: {
              limit,
            },
          },
        );
      parts.onChange();
      return { webhook: shown(webhook), secret: made.secret };
    }),
  );
  own.add(listWebhooks, (_, caller) =>
    answering(async () => {
      const mine = (await store.list()).filter(({ owner }) => owner === caller);
      const webhooks = mine.map(({ webhook }) => shown(webhook));
      return { webhooks: webhooks.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1)) };
    }),
  );
  own.add(updateWebhook, ({ id, ifVersion, url, events, agent }, caller) =>
    answering(async () => {
      if (url !== undefined) checkTarget(url, parts.guard);
      const changes = {
        ...(url !== undefined && { url }),
        ...(events !== undefined && { events }),
        ...(agent !== undefined && { agent }),
      };
      await find(parts, { id, caller });
      const changed = await store.change(id, (one) => {
        const version = versionOf(one.webhook);
        if (ifVersion !== undefined && ifVersion !== version)
          throw new ServiceError("version_changed", changedMessage(`webhook ${id}`, version), {
            data: { version },
          });
        return { ...one, webhook: { ...one.webhook, ...changes } };
      });
      if (changed === null) throw unknown(id, caller);
      parts.onChange();
      return { webhook: shown(changed.webhook) };
    }),
  );
  own.add(removeWebhook, ({ id }, caller) =>
    answering(async () => {
      const subscription = await find(parts, { id, caller });
      await store.remove(subscription);
      return { id: subscription.webhook.id, removed: true as const };
    }),
  );
  serveDeliveries(own, parts);
}

function serveDeliveries(own: OwnOperations, parts: SubscriptionParts): void {
  const { store, now } = parts;
  own.add(getWebhook, ({ id }, caller) =>
    answering(async () => {
      const { webhook } = await find(parts, { id, caller });
      const [pending, dead] = await Promise.all([store.pending(id), store.dead(id)]);
      return {
        webhook: shown(webhook),
        pending,
        dead: dead.map(({ id: deliveryId, event, at, attempts, error }) => ({
          deliveryId,
          event,
          at: new Date(at).toISOString(),
          attempts: Math.max(1, attempts),
          error: error ?? "",
        })),
      };
    }),
  );
  own.add(redeliverWebhook, ({ id, deliveryId }, caller) =>
    answering(async () => {
      const subscription = await find(parts, { id, caller });
      const dead = (await store.dead(id)).filter(
        (one) => deliveryId === undefined || one.id === deliveryId,
      );
      if (deliveryId !== undefined && dead.length === 0)
        throw new ServiceError(
          "unknown_delivery",
          `no delivery ${deliveryId} of webhook ${id} was given up`,
          {
            data: {
              deliveryId,
            },
          },
        );
      const enabled = { status: "enabled", reason: null, failingSince: null } as const;
      const changed = await store.change(id, (one) => ({
        ...one,
        webhook: { ...one.webhook, ...enabled },
      }));
      const { webhook } = changed ?? subscription;
      let redelivered = 0;
      for (const one of dead) if (await store.revive(one, now())) redelivered += 1;
      parts.onChange();
      return { webhook: shown(webhook), redelivered };
    }),
  );
}

/** Another caller's webhook is as unknown as one that does not exist. */
async function find(
  { store }: SubscriptionParts,
  { id, caller }: { id: string; caller: string },
): Promise<Subscription> {
  const found = await store.find(id);
  if (found !== null && found.owner === caller) return found;
  throw unknown(id, caller);
}

function unknown(id: string, caller: string): ServiceError {
  const message = `${caller} has no webhook ${id}`;
  return new ServiceError("unknown_webhook", message, { data: { id } });
}

function shown(webhook: KeptWebhook): Webhook {
  return { ...webhook, version: versionOf(webhook) };
}

function versionOf({ url, events, agent }: KeptWebhook): string {
  const settings = JSON.stringify([url, events, agent]);
  return createHash("sha256").update(settings).digest("hex").slice(0, 16);
}

function checkTarget(url: string, guard: EgressGuard): void {
  const reason = whyNot(url, guard);
  if (reason === null) return;
  const message = `nothing can be sent to this url: ${reason}`;
  throw new ServiceError("invalid_target", message, { data: { reason } });
}

/** Returns the reason why a URL is refused before any delivery; the addresses of a name are checked at each delivery. */
function whyNot(text: string, guard: EgressGuard): string | null {
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return "a url with a password in it is shown";
  try {
    guard.checkUrl(url);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A failure of Redis is reported as such, and not as a fault. */
export const answering = storeFailureAs((cause) => {
  const message = `this cannot be done now, try again later: ${cause.message}`;
  return new ServiceError("store_unavailable", message, { data: { cause: cause.message }, cause });
});

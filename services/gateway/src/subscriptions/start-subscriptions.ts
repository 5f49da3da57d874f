import { randomBytes } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import { lastEventPlace } from "@switchyard/bus/last-event";
import type { Log } from "@switchyard/service/log";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { startRounds } from "@switchyard/service/rounds";
import type { SecretCipher } from "@switchyard/service/secret-cipher";
import type { OwnOperations } from "../routes/own-operations.ts";
import { deliverDue } from "./deliver.ts";
import { readForSubscriptions, type EventReader, type OnRead } from "./read-events.ts";
import { serveSubscriptions } from "./serve-subscriptions.ts";
import {
  openSubscriptionStore,
  type Subscription,
  type SubscriptionStore,
} from "./subscription-store.ts";
import { createWebhookSecrets, type WebhookSecrets } from "./webhook-secrets.ts";

export interface SubscriptionSettings {
  readonly guard: EgressGuard;
  readonly mostOfCaller: number;
  readonly retryMs: number;
  readonly disableAfterMs: number;
  /** Null means that no key is configured. */
  readonly cipher: SecretCipher | null;
  readonly onRead: OnRead;
}

export interface Subscriptions {
  /** Called when there may be events to read. */
  wake(): void;
  stop(): Promise<void>;
}

interface SubscriptionKit {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly storage: Pick<OwnerStorage, "admit" | "isRedisFull">;
  readonly log: Log;
}

const LEASE_MS = 10_000;
const LOOK_MS = 1_000;

/** Sends callers' events to their URLs: operations on webhooks, one reader of events among all replicas, and deliveries by each replica. */
export function startSubscriptions(
  own: OwnOperations,
  { bus, redis, storage, log }: SubscriptionKit,
  settings: SubscriptionSettings,
): Subscriptions {
  const now = Date.now;
  const holder = randomBytes(8).toString("hex");
  const store = openSubscriptionStore(redis);
  const { guard, mostOfCaller, retryMs, disableAfterMs, onRead } = settings;
  const secrets = createWebhookSecrets(settings.cipher);
  const deliveries = deliverDue({ store, secrets, guard, log, now, retryMs, disableAfterMs });
  let reader: EventReader | null = null;

  const look = async (): Promise<void> => {
    const lead = await store.lead(holder, LEASE_MS);
    // While Redis is nearly full the events stay in their stream.
    const isWanted = lead !== null && lead.count > 0 && !storage.isRedisFull;
    if (!isWanted) {
      await reader?.stop();
      reader = null;
    } else if (lead.cursor === null) {
      // The first browser begins with what happens from now on.
      await store.begin(await lastEventPlace(bus));
      void rounds.wake();
    } else if (reader === null) {
      const onEnqueued = (): void => deliveries.wake();
      const parts = { bus, log, store, holder, now, onEnqueued, onRead };
      const begun = readForSubscriptions(parts, lead.cursor);
      reader = begun;
      void begun.done.finally(() => {
        if (reader === begun) reader = null;
      });
    }
  };
  const rounds = startRounds({
    everyMs: LOOK_MS,
    round: look,
    // A replica that cannot renew its lease stops reading at its first refused write.
    onError: (err) => log.debug({ err }, "webhooks cannot be looked at"),
  });
  serveSubscriptions(own, {
    bus,
    store,
    storage,
    secrets,
    guard,
    mostOfCaller,
    now,
    onChange: () => {
      void rounds.wake();
      deliveries.wake();
    },
  });
  void rounds.wake();
  const renewing = renewSecrets(store, secrets, log);
  return {
    wake: () => void rounds.wake(),
    async stop() {
      await Promise.all([rounds.stop(), renewing]);
      await reader?.stop();
      await deliveries.stop();
      // The lease is released, so that another replica takes over at once and not when the lease ends.
      await store.leave(holder).catch(() => {});
    },
  };
}

/** Encrypts every secret with the newest key, so that the previous key can be removed. A secret that no key opens is left unchanged. */
async function renewSecrets(
  store: SubscriptionStore,
  secrets: WebhookSecrets,
  log: Log,
): Promise<void> {
  const renewed = (one: Subscription): Subscription | null => {
    const secret = secrets.renewed(one.webhook.id, one.secret);
    return secret === null ? null : { ...one, secret };
  };
  try {
    for (const { webhook } of await store.list())
      await store
        .change(webhook.id, renewed)
        .catch((err: unknown) => log.warn({ err, webhook: webhook.id }, MESSAGE));
  } catch (err) {
    log.warn({ err }, MESSAGE);
  }
}

const MESSAGE = "the secret of a webhook cannot be kept with the newest key";

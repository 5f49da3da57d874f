import type { EventPlace } from "@switchyard/bus/event-place";
import type { KeptWebhook } from "../routes/webhook-operations.ts";
import type { Redis } from "@switchyard/service/redis";
import { claimDue } from "@switchyard/service/due-list";
import { releaseLock } from "@switchyard/service/redis-lease";
import { fromRedis } from "@switchyard/service/store-error";
import * as scripts from "./store-scripts.ts";

/** A webhook in its stored form. */
export interface Subscription {
  readonly owner: string;
  /** The encrypted secret, see webhook-secrets.ts. */
  readonly secret: string;
  /** The sequence in the stream after which its events begin. */
  readonly after: number;
  /** The time at which the event of that sequence was stored, in milliseconds since 1970. */
  readonly afterMs: number;
  readonly webhook: KeptWebhook;
}

/** One event on its way to one webhook. */
export interface WebhookDelivery {
  /** The receiver's `webhook-id`, which is the same in every attempt. */
  readonly id: string;
  readonly webhookId: string;
  readonly event: string;
  readonly body: string;
  readonly attempts: number;
  readonly error: string | null;
  /** The time of the last attempt, in milliseconds since 1970. */
  readonly at: number;
}

/** The authoritative store of subscriptions. Methods reject with StoreError. */
export type SubscriptionStore = ReturnType<typeof openSubscriptionStore>;

const PREFIX = "yard:gateway:{webhooks}:";
const ALL = `${PREFIX}all`;
const OWNERS = `${PREFIX}owners`;
const CURSOR = `${PREFIX}cursor`;
const READER = `${PREFIX}reader`;
/** Browsers that get web push, by their session; push/push-store.ts writes it. */
export const PUSHED = `${PREFIX}push`;
const DUE = `${PREFIX}due`;
const DELIVERIES = `${PREFIX}deliveries`;
const PENDING = `${PREFIX}pending`;
const deadOf = (id: string): string => `${PREFIX}dead:${id}`;

const MOST_PENDING = 1_000;
const MOST_PENDING_BYTES = 4 * 1024 ** 2;
const DEAD_KEPT = 100;
const DEAD_KEPT_BYTES = 1024 ** 2;
const SCANNED_AT_ONCE = 1_000;
/** The time for which a delivery is claimed, which is longer than an attempt takes. */
const TAKEN_MS = 30_000;

export function openSubscriptionStore(redis: Redis) {
  const run: Run = async (script, keys, args) =>
    fromRedis(redis.eval(script, keys.length, ...keys, ...args.map(String)));
  return { ...records(redis, run), ...reading(redis, run), ...deliveries(redis, run) };
}

/** `<sequence>.<milliseconds>`. */
function cursorText({ sequence, storedAtMs }: EventPlace): string {
  return `${sequence}.${storedAtMs}`;
}

function cursorOf(text: string): EventPlace {
  const [sequence = 0, storedAtMs = 0] = text.split(".").map(Number);
  return { sequence, storedAtMs };
}

type Run = (
  script: string,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

function records(redis: Redis, run: Run) {
  return {
    /** Resolves with false when the owner has as many as it may. */
    async create(subscription: Subscription, limit: number): Promise<boolean> {
      const { webhook, owner, after, afterMs } = subscription;
      const cursor = cursorText({ sequence: after, storedAtMs: afterMs });
      const record = JSON.stringify(subscription);
      const made = await run(
        scripts.CREATE,
        [ALL, OWNERS, CURSOR],
        [webhook.id, record, owner, limit, cursor],
      );
      return made === 1;
    },
    /**
     * Writes the result of `change`, and retries when another replica has written meanwhile; null changes nothing. Resolves
     * with null when the webhook does not exist.
     */
    async change(
      id: string,
      change: (subscription: Subscription) => Subscription | null,
    ): Promise<Subscription | null> {
      for (;;) {
        const before = await fromRedis(redis.hget(ALL, id));
        if (before === null) return null;
        const subscription = subscriptionOf(before);
        const changed = change(subscription);
        if (changed === null) return subscription;
        const args = [id, before, JSON.stringify(changed)];
        if ((await run(scripts.CHANGE, [ALL], args)) === 1) return changed;
      }
    },
    async remove({ webhook: { id }, owner }: Subscription): Promise<void> {
      await run(scripts.REMOVE, [ALL, OWNERS, PENDING, DELIVERIES, deadOf(id)], [id, owner]);
      await dropPending(redis, id);
    },
    async list(): Promise<Subscription[]> {
      const texts = await fromRedis(redis.hvals(ALL));
      return texts.map(subscriptionOf);
    },
    async find(id: string): Promise<Subscription | null> {
      const text = await fromRedis(redis.hget(ALL, id));
      return text === null ? null : subscriptionOf(text);
    },
  };
}

/** Removes the deliveries that wait for a removed webhook; any that are left when the process dies here are dropped when they are due. */
async function dropPending(redis: Redis, webhookId: string): Promise<void> {
  const ofWebhook = deliveryIdOf("*", webhookId);
  let cursor = "0";
  do {
    const page = redis.zscan(DUE, cursor, "MATCH", ofWebhook, "COUNT", SCANNED_AT_ONCE);
    const [next, found] = await fromRedis(page);
    cursor = next;
    // Each member is followed by its score.
    const ids = found.filter((_, index) => index % 2 === 0);
    if (ids.length > 0)
      await fromRedis(Promise.all([redis.zrem(DUE, ...ids), redis.hdel(DELIVERIES, ...ids)]));
  } while (cursor !== "0");
}

/** Returns the receiver's `webhook-id` of an event: the same for the same event, at any position in the stream. */
export function deliveryIdOf(eventDigest: string, webhookId: string): string {
  return `msg_${eventDigest}_${webhookId.slice(4)}`;
}

/** Methods of the one replica that reads events. */
function reading(redis: Redis, run: Run) {
  return {
    /** Resolves with null when another replica reads the events. */
    async lead(
      holder: string,
      leaseMs: number,
    ): Promise<{ readonly count: number; readonly cursor: EventPlace | null } | null> {
      const answer = await run(scripts.LEAD, [READER, ALL, CURSOR, PUSHED], [holder, leaseMs]);
      const [isLeader, count, cursor] = answer as [number, number, string]; // The form in which the script answers.
      return isLeader === 1 ? { count, cursor: cursor === "" ? null : cursorOf(cursor) } : null;
    },
    /** Stores the position at which the reading begins, unless there is one. */
    async begin(place: EventPlace): Promise<void> {
      await fromRedis(redis.set(CURSOR, cursorText(place), "NX"));
    },
    leave: (holder: string): Promise<void> => releaseLock(redis, READER, holder),
    /** Resolves with null when another replica reads, and nothing was written; else with the webhooks that have too many pending deliveries. */
    async enqueue(
      found: readonly WebhookDelivery[],
      { holder, place, now }: { holder: string; place: EventPlace; now: number },
    ): Promise<string[] | null> {
      const answer = await run(
        scripts.ENQUEUE,
        [READER, CURSOR, DUE, DELIVERIES, PENDING, ALL],
        [
          holder,
          cursorText(place),
          now,
          MOST_PENDING,
          MOST_PENDING_BYTES,
          ...found.flatMap((one) => [one.id, one.webhookId, JSON.stringify(one)]),
        ],
      );
      return answer as string[] | null; // The form in which the script answers; its false is null here.
    },
  };
}

function deliveries(redis: Redis, run: Run) {
  const read = async (ids: readonly string[]): Promise<WebhookDelivery[]> => {
    if (ids.length === 0) return [];
    const texts = await fromRedis(redis.hmget(DELIVERIES, ...ids));
    return texts.flatMap((text) => (text === null ? [] : [deliveryOf(text)]));
  };
  return {
    async pending(id: string): Promise<number> {
      return Math.max(0, Number((await fromRedis(redis.hget(PENDING, id))) ?? 0));
    },
    /** Resolves with the newest deliveries first. */
    async dead(id: string): Promise<WebhookDelivery[]> {
      const ids = await fromRedis(redis.zrange(deadOf(id), "0", "-1"));
      return (await read(ids)).toReversed();
    },
    async take(now: number, count: number): Promise<WebhookDelivery[]> {
      const ids = await claimDue(redis, DUE, { limit: count, claimMs: TAKEN_MS, now });
      const found = await read(ids);
      const known = new Set(found.map(({ id }) => id));
      const gone = ids.filter((id) => !known.has(id));
      // Those of a removed webhook, which gets no other ones.
      if (gone.length > 0) await fromRedis(redis.zrem(DUE, ...gone));
      return found;
    },
    async done({ id, webhookId }: WebhookDelivery): Promise<void> {
      await run(scripts.DONE, [DUE, DELIVERIES, PENDING], [id, webhookId]);
    },
    async again(delivery: WebhookDelivery, at: number): Promise<void> {
      const { id, webhookId } = delivery;
      const args = [id, webhookId, JSON.stringify(delivery), at];
      await run(scripts.AGAIN, [DUE, DELIVERIES, PENDING], args);
    },
    async giveUp(delivery: WebhookDelivery, now: number): Promise<void> {
      const { id, webhookId } = delivery;
      const keys = [DUE, DELIVERIES, PENDING, deadOf(webhookId), ALL];
      const record = JSON.stringify(delivery);
      await run(scripts.GIVE_UP, keys, [id, webhookId, record, now, DEAD_KEPT, DEAD_KEPT_BYTES]);
    },
    /** Resolves with true when the delivery was dead and is due now. */
    async revive(delivery: WebhookDelivery, now: number): Promise<boolean> {
      const { id, webhookId } = delivery;
      const record = JSON.stringify({ ...delivery, attempts: 0 });
      const keys = [DUE, DELIVERIES, PENDING, deadOf(webhookId)];
      return (await run(scripts.REVIVE, keys, [id, webhookId, record, now])) === 1;
    },
  };
}

/** Only this file writes the records. */
const subscriptionOf = (text: string): Subscription => JSON.parse(text) as Subscription;
const deliveryOf = (text: string): WebhookDelivery => JSON.parse(text) as WebhookDelivery;

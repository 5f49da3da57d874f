import { z } from "zod";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  isPartOfResource,
  subscribeResource as contract,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import type { Requester } from "@switchyard/tool-provider/policy-gate";
import {
  StoreError,
  storeFailureAs,
  allFromRedis,
  fromRedis,
} from "@switchyard/service/store-error";
import type { Redis } from "@switchyard/service/redis";
import { errorText } from "../limits/call-failure.ts";
import type { McpSession } from "../connection/mcp-session.ts";
import type { PoolMember } from "../connection/pool-member.ts";
import { performFeature, type FeatureDeps } from "./perform-feature.ts";
import { supportingSession } from "./request-feature.ts";

export type Subscriptions = ReturnType<typeof createSubscriptions>;

/** Resources that are watched at one server. */
const MAX_WATCHED = 200;

const fail = failuresOf(contract.errors);

export function createSubscriptions(options: {
  readonly store: SubscriptionStore;
  readonly now: () => number;
  readonly onTrouble: (server: string, error: unknown) => void;
}) {
  const { store, now, onTrouble } = options;
  const watched = new Map<string, readonly string[]>();

  /** Subscribes at the server to exactly the stored resources. */
  const follow = async (server: string, session: McpSession): Promise<void> => {
    const kept = await store.load(server, now());
    const uris = [...new Set(kept.map(({ uri }) => uri))].slice(0, MAX_WATCHED);
    const before = watched.get(server) ?? [];
    if (uris.length === before.length && uris.every((uri) => before.includes(uri))) return;
    await session.watchResources(uris);
    watched.set(server, uris);
  };

  const watch = async (
    { connection }: PoolMember,
    wanted: { caller: string; uri: string; expiresAt: number },
  ): Promise<void> => {
    const { caller, uri } = wanted;
    const server = connection.entry.id;
    if (connection.entry.config?.scope !== "shared") throw notShared(server);
    await connection.start();
    const session = supportingSession(connection, "subscriptions");
    await orUnavailable(async () => {
      const kept = await store.load(server, now());
      const uris = new Set(kept.map((each) => each.uri));
      if (!uris.has(uri) && uris.size >= MAX_WATCHED) throw tooMany(server);
      await store.put(server, wanted);
      try {
        await follow(server, session);
      } catch (error) {
        await store.remove(server, caller, uri);
        if (error instanceof StoreError) throw error;
        const reason = session.redact(errorText(error));
        throw fail.server_failed(`MCP server ${server} refused: ${reason}`, { server, reason });
      }
    });
  };

  return {
    async subscribe(
      deps: FeatureDeps,
      { member, uri, ttlSeconds }: { member: PoolMember; uri: string; ttlSeconds: number },
      requester: Requester,
    ): Promise<z.input<typeof contract.reply>> {
      const server = member.connection.entry.id;
      const feature = { kind: "resource", server, name: uri, args: { uri } } as const;
      const method = "resources/subscribe";
      const { result } = await performFeature(deps, { feature, method, requester }, async () => {
        const expiresAt = now() + ttlSeconds * 1_000;
        await watch(member, { caller: requester.onBehalfOf, uri, expiresAt });
        return { expiresAt: new Date(expiresAt).toISOString() };
      });
      return result;
    },
    async unsubscribe({ connection }: PoolMember, uri: string, caller: string): Promise<void> {
      const server = connection.entry.id;
      await orUnavailable(() => store.remove(server, caller, uri));
      const { session } = connection;
      if (session !== null)
        await follow(server, session).catch((error: unknown) => onTrouble(server, error));
    },
    /** Subscribes a new connection to the stored resources; never rejects. */
    async restore(server: string, session: McpSession): Promise<void> {
      watched.delete(server);
      if (session.capabilities.resources?.subscribe !== true) return;
      // From here on the sweep maintains it, also when Redis gives no answer now.
      watched.set(server, []);
      await follow(server, session).catch((error: unknown) => onTrouble(server, error));
    },
    /** True when a caller subscribed to the resource, or to one that contains it. */
    isWatched: (server: string, uri: string): boolean =>
      (watched.get(server) ?? []).some((each) => isPartOfResource(uri, each)),
    /**
     * Removes expired subscriptions, in every connected server, and adds those that another broker received: every broker
     * subscribes at a server that all serve, so no update is missed when one of them ends.
     */
    async sweep(sessionOf: (server: string) => McpSession | null): Promise<void> {
      for (const server of watched.keys()) {
        const session = sessionOf(server);
        if (session === null) watched.delete(server);
        else await follow(server, session).catch((error: unknown) => onTrouble(server, error));
      }
    },
  };
}

/** An event of one instance would be published to every subscriber, without a way to see whose it is. */
function notShared(server: string) {
  return fail.not_supported(
    `MCP server ${server} has an instance for each run or session; subscriptions are for shared servers.`,
    { server, feature: "subscriptions" },
  );
}

function tooMany(server: string) {
  return fail.too_many_subscriptions(
    `${MAX_WATCHED} resources of MCP server ${server} are watched already; end a subscription first.`,
    { server, limit: MAX_WATCHED },
  );
}

const orUnavailable = storeFailureAs(({ message: cause }) =>
  fail.store_unavailable(`Nothing was changed: ${cause}; try again when Redis is up.`, { cause }),
);

/** A subscription of a NATS user to a resource of a server, with its expiry. */
const Subscription = z.object({
  /** The NATS user. */
  caller: z.string(),
  uri: z.string(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
});
type Subscription = z.infer<typeof Subscription>;

const KEPT_SECONDS = 2 * 24 * 60 * 60;

type SubscriptionStore = ReturnType<typeof createSubscriptionStore>;

/**
 * Subscriptions in Redis, one hash for each server, so that they survive the connection and the
 * broker. Rejects with StoreError.
 */
export function createSubscriptionStore(redis: Redis) {
  return {
    async put(server: string, subscription: Subscription): Promise<void> {
      const { caller, uri } = subscription;
      const text = JSON.stringify(subscription);
      await allFromRedis(
        redis
          .multi()
          .hset(keyOf(server), fieldOf(caller, uri), text)
          .expire(keyOf(server), KEPT_SECONDS)
          .exec(),
      );
    },
    async remove(server: string, caller: string, uri: string): Promise<void> {
      await fromRedis(redis.hdel(keyOf(server), fieldOf(caller, uri)));
    },
    /** Returns the subscriptions that have not expired, and deletes the others. */
    async load(server: string, now: number): Promise<Subscription[]> {
      const fields = await fromRedis(redis.hgetall(keyOf(server)));
      const read = Object.entries(fields).map(([field, text]) => ({ field, found: parsed(text) }));
      const over = read.filter(({ found }) => found === null || found.expiresAt <= now);
      if (over.length > 0)
        await fromRedis(redis.hdel(keyOf(server), ...over.map(({ field }) => field)));
      return read.flatMap(({ found }) => (found === null || found.expiresAt <= now ? [] : [found]));
    },
  };
}

function keyOf(server: string): string {
  return `yard:{mcp:${server}}:subscriptions`;
}

/** A NATS user's name has no blank. */
function fieldOf(caller: string, uri: string): string {
  return `${caller} ${uri}`;
}

function parsed(text: string): Subscription | null {
  return Subscription.safeParse(JSON.parse(text)).data ?? null;
}

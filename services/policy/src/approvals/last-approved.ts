import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import type { GrantScope } from "./approval-id.ts";

/**
 * The arguments, without secrets, of the last approved call of a tool by an agent for its requester, or by a user, for comparison
 * by the person who decides.
 */
export interface LastApproved {
  read(call: Pick<GrantScope, "principal" | "tool">): Promise<string | null>;
  /** Logs a failure and does not reject: the approval of the call was consumed, so an error here would lose the call. */
  write(call: Pick<GrantScope, "principal" | "tool">, comparable: string | null): Promise<void>;
}

const KEPT_SECONDS = 30 * 24 * 60 * 60;

export function createLastApproved(redis: Redis, log: Log): LastApproved {
  return {
    read: (call) => fromRedis(redis.get(keyOf(call))),
    async write(call, comparable) {
      const key = keyOf(call);
      try {
        if (comparable === null) await fromRedis(redis.del(key));
        else await fromRedis(redis.set(key, comparable, "EX", KEPT_SECONDS));
      } catch (err) {
        log.warn({ err }, "arguments of an approved call not stored");
      }
    },
  };
}

function keyOf({ principal, tool }: Pick<GrantScope, "principal" | "tool">): string {
  const { agent, user } = principal;
  // The key contains the user: approvals of one team are not shown to the approvers of another.
  const digest = canonicalDigest({ agent, user, tool });
  return `yard:approval-last:{${digest.slice("sha256:".length)}}`;
}

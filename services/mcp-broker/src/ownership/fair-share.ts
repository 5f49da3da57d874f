import type { PresentBroker } from "./lease-store.ts";

/** A server that no broker owns. */
export interface FreeServer {
  readonly server: string;
  /** The time since this broker saw that it is free. */
  readonly freeForMs: number;
}

/** The servers of a broker. */
export type BrokerShare = Pick<PresentBroker, "id" | "owned" | "limit">;

export interface ClaimSituation {
  readonly self: string;
  /** Every broker that is there, this one with what it owns now. */
  readonly brokers: readonly BrokerShare[];
  readonly free: readonly FreeServer[];
  /** All servers, owned or not. */
  readonly total: number;
  readonly hesitationMs: number;
}

/**
 * Returns the free servers that this broker claims now: up to its fair share at once, beyond it when the other brokers do not claim
 * them, and never more than it may own. The lease decides between two that claim one.
 */
export function serversToClaim(situation: ClaimSituation): string[] {
  const { self, brokers, free, total, hesitationMs } = situation;
  const own = brokers.find(({ id }) => id === self);
  if (own === undefined) return [];
  const share = Math.ceil(total / brokers.length);
  let room = own.limit - own.owned;
  let fairRoom = share - own.owned;
  const claims: string[] = [];
  for (const { server, freeForMs } of free) {
    if (room <= 0) break;
    if (fairRoom <= 0 && freeForMs < hesitationMs) continue;
    claims.push(server);
    room -= 1;
    fairRoom -= 1;
  }
  return claims;
}

/**
 * True when this broker should hand over one server: it has the most, and another has at least two fewer and room. The move
 * brings the two closer and never reverses their order, so nothing moves back and forth.
 */
export function shouldGiveOne({
  self,
  brokers,
}: Pick<ClaimSituation, "self" | "brokers">): boolean {
  const own = brokers.find(({ id }) => id === self);
  if (own === undefined) return false;
  const isMost = brokers.every(
    ({ id, owned }) => owned < own.owned || (owned === own.owned && id >= self),
  );
  return isMost && brokers.some(({ owned, limit }) => owned + 2 <= own.owned && owned < limit);
}

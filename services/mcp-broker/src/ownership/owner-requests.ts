import { setTimeout as delay } from "node:timers/promises";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { failuresOf, ServiceError } from "@switchyard/contracts/errors";
import { serverLogs } from "@switchyard/contracts/mcp-broker/mcp-servers";
import {
  askOwner,
  ensureServer,
  type OwnerRequest,
} from "@switchyard/contracts/mcp-broker/mcp-ownership";
import { storeFailureAs } from "@switchyard/service/store-error";
import type { ServerPool } from "../connection/server-pool.ts";
import type { ServerRegistry } from "../registry/server-registry.ts";
import { handleOwnerRequest, type OwnerReply } from "./handle-owner-request.ts";
import type { KnownLeases } from "./known-leases.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";

export type OwnerRequests = ReturnType<typeof createOwnerRequests>;

interface Limits {
  /** In milliseconds since the epoch. */
  readonly deadline: number;
  readonly correlationId?: string;
}

export interface OwnerRequestDeps {
  readonly bus: Bus;
  readonly leases: KnownLeases;
  readonly keeper: LeaseKeeper;
  readonly pool: ServerPool;
  readonly registry: ServerRegistry;
}

const fail = failuresOf({ ...ensureServer.errors, ...serverLogs.errors });

const REPLY_MARGIN_MS = 250;
const LOOK_AGAIN_MS = 100;
/** The time for which a broker that is full waits for another one to claim the server. */
const TIMEOUT_MS = 1_500;

export function createOwnerRequests(deps: OwnerRequestDeps) {
  const { leases, keeper } = deps;
  return {
    /**
     * Answers a request about a server where its connection is: here, or at its owner. Rejects with
     * the declared errors of the request, and `owner_unavailable`.
     */
    async atOwner(server: string, request: OwnerRequest, limits: Limits): Promise<OwnerReply> {
      if (leases.owns(server)) return handleOwnerRequest(deps, server, request);
      await orUnavailable(server)(() => lookAndClaim(deps, server));
      return leases.ownerOf(server) === null
        ? handleOwnerRequest(deps, server, request)
        : askElsewhere(deps, { server, request, limits });
    },
    /** Resolves when a broker owns the server and takes its calls. Rejects with the errors of `mcp.ensure`. */
    async ensure(server: string, limits: Limits): Promise<void> {
      const end = limits.deadline - REPLY_MARGIN_MS;
      const full = Date.now() + TIMEOUT_MS;
      for (;;) {
        if (await isEnsured(deps, server, limits)) return;
        const isFull = keeper.owned >= keeper.limit;
        if (isFull && leases.ownerOf(server) === null && Date.now() > full)
          throw noCapacity(server, keeper.limit);
        if (Date.now() + LOOK_AGAIN_MS > end) throw ownedElsewhere(deps, server);
        await delay(LOOK_AGAIN_MS);
      }
    },
  };
}

async function isEnsured(deps: OwnerRequestDeps, server: string, limits: Limits): Promise<boolean> {
  const { leases, bus } = deps;
  await orNoLease(() => lookAndClaim(deps, server));
  if (leases.keeps(server)) {
    await handleOwnerRequest(deps, server, { do: "start" });
    // The subscription has to be there before the caller calls again.
    await bus.flush();
    return true;
  }
  if (leases.ownerOf(server) === null) return false;
  try {
    await askElsewhere(deps, { server, request: { do: "start" }, limits });
    return true;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // A dead owner keeps its lease for a while, and no broker may claim it before.
    return false;
  }
}

/** Reads the server's lease, and claims it when it is free. Rejects with StoreError. */
async function lookAndClaim(
  { leases, keeper, pool }: OwnerRequestDeps,
  server: string,
): Promise<void> {
  if (leases.owns(server)) return;
  await keeper.lookAt(server);
  // Only a broker that has the declaration can connect the server.
  if (leases.ownerOf(server) !== null || pool.find(server) === null) return;
  await keeper.claim(server);
  if (!leases.owns(server)) await keeper.lookAt(server); // another one was faster
}

async function askElsewhere(
  { bus, leases }: OwnerRequestDeps,
  { server, request, limits }: { server: string; request: OwnerRequest; limits: Limits },
): Promise<OwnerReply> {
  try {
    return await call(bus, askOwner, request, { tokens: { server }, ...limits });
  } catch (error) {
    if (error instanceof ServiceError && GONE.has(error.code)) {
      const retryAfterMs = Math.ceil(leases.leftMs(server));
      throw fail.owner_unavailable(
        `The broker that owns MCP server ${server} does not answer (${error.code}); when it is gone, another one takes over in ${retryAfterMs} ms.`,
        { server, retryAfterMs },
      );
    }
    throw error;
  }
}

/** Errors of a request that prove that the owner did nothing. */
const GONE: ReadonlySet<string> = new Set(["no_responders", "not_owner", "overloaded"]);

const orUnavailable = (server: string) =>
  storeFailureAs(({ message }) =>
    fail.owner_unavailable(
      `Which broker owns MCP server ${server} cannot be found out: ${message}; try again when Redis is up.`,
      { server, retryAfterMs: 0 },
    ),
  );

const orNoLease = storeFailureAs(({ message: cause }) =>
  fail.lease_unavailable(`No lease can be taken: ${cause}; try again when Redis is up.`, { cause }),
);

function ownedElsewhere({ leases }: OwnerRequestDeps, server: string): ServiceError {
  const retryAfterMs = Math.ceil(leases.leftMs(server));
  return fail.owned_elsewhere(
    `Another broker has the lease of MCP server ${server} and does not answer; without it the server can be taken over in ${retryAfterMs} ms.`,
    { server, retryAfterMs },
  );
}

function noCapacity(server: string, limit: number): ServiceError {
  return fail.no_capacity(
    `This broker owns its limit of ${limit} MCP servers and no other one took ${server}; start another broker.`,
    { server, limit },
  );
}

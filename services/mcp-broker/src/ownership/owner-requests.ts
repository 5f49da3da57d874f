import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { failuresOf, ServiceError } from "@switchyard/contracts/errors";
import { serverLogs } from "@switchyard/contracts/mcp-servers";
import { askOwner, ensureServer, type OwnerRequest } from "@switchyard/contracts/mcp-ownership";
import { storeFailureAs } from "@switchyard/service/store-error";
import type { z } from "zod";
import type { ServerDirectory } from "./server-directory.ts";
import type { ServerOwnership } from "./server-ownership.ts";

export type OwnerReply = z.output<typeof askOwner.reply>;

export interface OwnerRequests {
  /**
   * Answers a request about a server where its connection is: here, or at its owner. Rejects with
   * the declared errors of the request, and `owner_unavailable`.
   */
  atOwner(server: string, request: OwnerRequest, limits: Limits): Promise<OwnerReply>;
  /** Resolves when a broker owns the server and takes its calls. Rejects with the errors of `mcp.ensure`. */
  ensure(server: string, limits: Limits): Promise<void>;
}

interface Limits {
  /** In milliseconds since the epoch. */
  readonly deadline: number;
  readonly correlationId?: string;
}

export interface OwnerRequestDeps {
  readonly bus: Bus;
  readonly ownership: ServerOwnership;
  readonly directory: ServerDirectory;
  /** True for a server that this broker can connect: it has its declaration. */
  readonly knows: (server: string) => boolean;
  /** Carries a request out on this broker. */
  readonly here: (server: string, request: OwnerRequest) => Promise<OwnerReply>;
}

const fail = failuresOf({ ...ensureServer.errors, ...serverLogs.errors });

const REPLY_MARGIN_MS = 250;
const LOOK_AGAIN_MS = 100;
/** How long a broker that is full lets the others take the server. */
const PATIENCE_MS = 1_500;

export function createOwnerRequests(deps: OwnerRequestDeps): OwnerRequests {
  const { ownership, here } = deps;
  return {
    async atOwner(server, request, limits) {
      if (ownership.owns(server)) return here(server, request);
      await orUnavailable(server)(() => lookAndClaim(deps, server));
      const owner = deps.directory.ownerOf(server);
      return owner === null ? here(server, request) : ask(deps, server, request, limits);
    },
    async ensure(server, limits) {
      const end = limits.deadline - REPLY_MARGIN_MS;
      const full = Date.now() + PATIENCE_MS;
      for (;;) {
        if (await isEnsured(deps, server, limits)) return;
        const isFull = ownership.owned >= ownership.limit;
        if (isFull && deps.directory.ownerOf(server) === null && Date.now() > full)
          throw noCapacity(server, ownership.limit);
        if (Date.now() + LOOK_AGAIN_MS > end) throw ownedElsewhere(deps, server);
        await pause(LOOK_AGAIN_MS);
      }
    },
  };
}

async function isEnsured(
  deps: OwnerRequestDeps,
  server: string,
  { deadline, ...rest }: Limits,
): Promise<boolean> {
  const { ownership, directory, here } = deps;
  await orNoLease(() => lookAndClaim(deps, server));
  if (ownership.keeps(server)) {
    await here(server, { do: "start" });
    // The subscription has to be there before the caller calls again.
    await deps.bus.flush();
    return true;
  }
  if (directory.ownerOf(server) === null) return false;
  try {
    await ask(deps, server, { do: "start" }, { deadline, ...rest });
    return true;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // A dead owner keeps its lease for a while, and nothing may take it before.
    return false;
  }
}

/** Sees whose the server is, and takes it when it is nobody's. Rejects with StoreError. */
async function lookAndClaim(
  { ownership, directory, knows }: OwnerRequestDeps,
  server: string,
): Promise<void> {
  if (ownership.owns(server)) return;
  await ownership.lookAt(server);
  if (directory.ownerOf(server) !== null || !knows(server)) return;
  await ownership.claim(server);
  if (!ownership.owns(server)) await ownership.lookAt(server); // another one was faster
}

async function ask(
  { bus, directory }: OwnerRequestDeps,
  server: string,
  request: OwnerRequest,
  limits: Limits,
): Promise<OwnerReply> {
  try {
    return await call(bus, askOwner, request, { tokens: { server }, ...limits });
  } catch (error) {
    if (error instanceof ServiceError && GONE.has(error.code)) {
      const retryAfterMs = Math.ceil(directory.leftMs(server));
      throw fail.owner_unavailable(
        `The broker that owns MCP server ${server} does not answer (${error.code}); when it is gone, another one takes over in ${retryAfterMs} ms.`,
        { server, retryAfterMs },
      );
    }
    throw error;
  }
}

/** Ends of a question that prove that the owner did nothing. */
const GONE: ReadonlySet<string> = new Set(["no_responders", "not_owner", "overloaded"]);

const orUnavailable = (server: string) =>
  storeFailureAs(({ message }) =>
    fail.owner_unavailable(
      `Whose MCP server ${server} is cannot be found out: ${message}; try again when Redis is up.`,
      { server, retryAfterMs: 0 },
    ),
  );

const orNoLease = storeFailureAs(({ message: cause }) =>
  fail.lease_unavailable(`No lease can be taken: ${cause}; try again when Redis is up.`, { cause }),
);

function ownedElsewhere({ directory }: OwnerRequestDeps, server: string): ServiceError {
  const retryAfterMs = Math.ceil(directory.leftMs(server));
  return fail.owned_elsewhere(
    `Another broker has the lease of MCP server ${server} and does not answer; without it the server can be taken over in ${retryAfterMs} ms.`,
    { server, retryAfterMs },
  );
}

function noCapacity(server: string, limit: number): ServiceError {
  return fail.no_capacity(
    `This broker owns its limit of ${limit} MCP servers and no other one took ${server}; start another broker or raise YARD_MCP_OWNED_LIMIT.`,
    { server, limit },
  );
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

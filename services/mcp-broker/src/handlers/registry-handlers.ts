import type { VerifiedCaller } from "@switchyard/bus/verified-caller";
import type { Service } from "@switchyard/bus/serve";
import type { OwnerRequest } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import {
  addServer,
  connectServer,
  disconnectServer,
  enableServer,
  getServer,
  removeServer,
  resetServer,
  serverLogs,
  updateServer,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import { unknownServer, type ServerPool } from "../connection/server-pool.ts";
import { handleOwnerRequest, type OwnerReply } from "../ownership/handle-owner-request.ts";
import type { ServerOwner } from "../ownership/server-owner.ts";
import type { ServerRegistry } from "../registry/server-registry.ts";
import { checkAdmin } from "./check-admin.ts";

export interface RegistryDeps {
  readonly pool: ServerPool;
  readonly registry: ServerRegistry;
  readonly owner: Pick<ServerOwner, "requests" | "views" | "claiming" | "leases">;
  /** NATS users that may change servers. */
  readonly admins: readonly string[];
}

/** The part of a connect's deadline that is reserved for the answer. */
const REPLY_MARGIN_MS = 250;

/** Answers the contracts of the registry. Reading is for every client, changes are for admins. */
export function handleRegistry(service: Service, deps: RegistryDeps): void {
  const { pool, registry, owner } = deps;
  const adminOf = (verified: VerifiedCaller): string =>
    checkAdmin(deps.admins, verified, "change MCP servers: they are programs on the broker's host");
  /** The server file of another broker may name servers that this one has no declaration of. */
  const isKnown = (id: string): boolean =>
    pool.find(id) !== null || owner.leases.stateOf(id) !== null;

  /** Changes and requests go to the broker that has the connection. */
  const atOwner = (
    server: string,
    request: OwnerRequest,
    { deadline, correlationId }: { readonly deadline: number; readonly correlationId: string },
  ): Promise<OwnerReply> => {
    if (!isKnown(server)) throw unknownServer(server);
    const limits = { deadline: deadline - REPLY_MARGIN_MS, correlationId };
    return owner.requests.atOwner(server, request, limits);
  };

  service.handle(getServer, async ({ server }, context) => {
    if (pool.find(server) === null) return declared(atOwner(server, { do: "get" }, context));
    const found = await declared(handleOwnerRequest(deps, server, { do: "get" }));
    const view = owner.views().find(({ entry: { id } }) => id === server);
    return { ...found, server: view?.info ?? found.server };
  });
  service.handle(serverLogs, async ({ server, tail }, context) => {
    const { server: info, stderr = "" } = await atOwner(server, { do: "logs" }, context);
    return { lines: lastLines(stderr, tail), hasProcess: info?.transport === "stdio" };
  });
  service.handle(addServer, ({ server }, context) => {
    const by = adminOf(context);
    return owner.claiming(server["id"], async () => ({ server: await registry.add(server, by) }));
  });
  service.handle(updateServer, async ({ server, changes, ifVersion }, context) => {
    const by = adminOf(context);
    const request = { do: "update", by, changes, isResume: false, ifVersion } as const;
    const reply = atOwner(server, request, context);
    return { ...(await changed(reply)), version: (await reply).version };
  });
  service.handle(enableServer, ({ server, enabled }, context) => {
    const by = adminOf(context);
    const request = { do: "update", by, changes: { enabled }, isResume: enabled } as const;
    return changed(atOwner(server, request, context));
  });
  service.handle(removeServer, async ({ server, ifVersion }, context) => {
    const request = { do: "remove", by: adminOf(context), ifVersion } as const;
    await atOwner(server, request, context);
    return { removed: true as const, server };
  });
  service.handle(resetServer, ({ server }, context) => {
    const by = adminOf(context);
    if (isKnown(server)) return changed(atOwner(server, { do: "reset", by }, context));
    // A server that was removed over the bus has no owner.
    return owner.claiming(server, async () => ({ server: await registry.reset(server, by) }));
  });
  service.handle(connectServer, ({ server }, context) =>
    changed(atOwner(server, { do: "connect", by: adminOf(context) }, context)),
  );
  service.handle(disconnectServer, async ({ server }, context) => {
    const by = adminOf(context);
    if (!isKnown(server)) return { server: null };
    return { server: (await atOwner(server, { do: "disconnect", by }, context)).server };
  });
}

async function declared(reply: Promise<OwnerReply>) {
  const { server, declaration, updatedAt = null, version } = await reply;
  if (server === null || declaration === undefined)
    throw new TypeError("the owner answered without the server's declaration");
  return { server, declaration, updatedAt, version };
}

async function changed(reply: Promise<OwnerReply>) {
  const { server } = await reply;
  if (server === null) throw new TypeError("the owner answered without the changed server");
  return { server };
}

function lastLines(text: string, count: number): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines.slice(-count);
}

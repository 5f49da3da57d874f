import type { Service } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  addServer,
  connectServer,
  disconnectServer,
  enableServer,
  getServer,
  removeServer,
  serverLogs,
  updateServer,
} from "@switchyard/contracts/mcp";
import type { ServerPool } from "../connection/server-pool.ts";
import type { ServerRegistry } from "./server-registry.ts";
import { shownDeclaration } from "./shown-declaration.ts";

export interface RegistryDeps {
  readonly pool: ServerPool;
  readonly registry: ServerRegistry;
  /** NATS users that may change servers. */
  readonly admins: readonly string[];
}

const fail = failuresOf({ ...getServer.errors, ...addServer.errors });

/** What a connect leaves of its deadline for the answer. */
const REPLY_MARGIN_MS = 250;

/** Answers the contracts of the registry. Reading is for every client, changes are for admins. */
export function handleRegistry(service: Service, deps: RegistryDeps): void {
  const { pool, registry } = deps;
  const adminOf = ({ caller }: { readonly caller: string }): string => {
    if (!deps.admins.includes(caller)) throw forbidden(caller);
    return caller;
  };
  const known = (id: string) => {
    const member = pool.find(id);
    if (member !== null) return member.connection;
    throw fail.unknown_server(`MCP server not found: ${id}`, { server: id });
  };

  service.handle(getServer, ({ server }) => {
    const { info, entry } = known(server);
    const declaration = shownDeclaration(entry.declaration);
    return { server: info, declaration, updatedAt: registry.updatedAt(server) };
  });
  service.handle(serverLogs, ({ server, tail }) => ({
    lines: lastLines(known(server).stderr, tail),
  }));
  service.handle(addServer, async ({ server }, context) => ({
    server: await registry.add(server, adminOf(context)),
  }));
  service.handle(updateServer, async ({ server, changes }, context) => ({
    server: await registry.update(server, changes, { by: adminOf(context) }),
  }));
  service.handle(enableServer, async ({ server, enabled }, context) => ({
    server: await registry.update(server, { enabled }, { by: adminOf(context), isResume: enabled }),
  }));
  service.handle(removeServer, async ({ server }, context) => {
    await registry.remove(server, adminOf(context));
    return { removed: true as const, server };
  });
  service.handle(connectServer, async ({ server }, context) => {
    const { connection, attempt } = registry.connect(server, adminOf(context));
    await beforeDeadline(context.deadline, attempt);
    return { server: connection.info };
  });
  service.handle(disconnectServer, async ({ server }, context) => ({
    server: await registry.disconnect(server, adminOf(context)),
  }));
}

function forbidden(caller: string) {
  const setting = "YARD_MCP_ADMINS";
  return fail.forbidden_admin(
    `NATS user ${caller} may not change MCP servers: they are programs on the broker's host. Who may is in the broker's setting ${setting}.`,
    { caller, setting },
  );
}

function lastLines(text: string, count: number): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines.slice(-count);
}

async function beforeDeadline(deadline: number, attempt: Promise<void>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, Math.max(0, deadline - REPLY_MARGIN_MS - Date.now()));
  try {
    await Promise.race([attempt, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}

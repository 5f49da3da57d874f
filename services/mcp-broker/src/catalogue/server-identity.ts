import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";

/**
 * The identity of a server in its pins: the program that runs or the address that answers, with references unresolved. Secrets
 * may change without the server becoming another one, so environment and headers are left out.
 */
export function serverIdentity(config: ServerConfig): object {
  if (config.transport === "stdio") {
    const { id, transport, command, args, cwd } = config;
    return { id, transport, command, args, cwd };
  }
  return { id: config.id, transport: "http", url: config.url };
}

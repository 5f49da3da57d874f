import { ServiceError } from "@switchyard/contracts/errors";
import { isRecord } from "@switchyard/contracts/json-record";
import { isAboutServer } from "../routes/route-shape.ts";
import type { Route } from "../routes/route-table.ts";

/** The codes that a request about a server that does not exist can have: no broker has its subjects, and nothing is recorded of its tools. */
const UNCLEAR = new Set(["no_responders", "unknown_pin"]);

/**
 * Sends a request about one MCP server, and rejects with `unknown_server` when that does not exist. Where an error or a reply leaves it open, it lists the
 * server's tools, which every broker answers for every server.
 */
export async function aboutServer<Reply>(
  route: Pick<Route, "path">,
  ask: () => Promise<Reply>,
  listToolsOfServer: () => Promise<unknown>,
): Promise<Reply> {
  if (!isAboutServer(route)) return ask();
  try {
    const reply = await ask();
    if (isEmpty(reply)) await checkExists(listToolsOfServer);
    return reply;
  } catch (error) {
    if (error instanceof ServiceError && UNCLEAR.has(error.code))
      await checkExists(listToolsOfServer);
    throw error;
  }
}

/** True for the replies of `mcp.disconnect` and `mcp.pins.list` about a server that may not exist. */
function isEmpty(reply: unknown): boolean {
  if (!isRecord(reply)) return false;
  const { server, pins, more } = reply;
  return server === null || (Array.isArray(pins) && pins.length === 0 && more === false);
}

async function checkExists(listToolsOfServer: () => Promise<unknown>): Promise<void> {
  try {
    await listToolsOfServer();
  } catch (error) {
    // Any other error leaves it open, and the first answer stands.
    if (error instanceof ServiceError && error.code === "unknown_server") throw error;
  }
}

import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { StartError } from "@switchyard/service/start-error";
import { parseServerFile, ServerFileError, type ServerEntry } from "./server-config.ts";

/** Reads the configured MCP servers. Throws StartError when the file as a whole cannot be used. */
export async function readServerFile(path: string): Promise<ServerEntry[]> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new StartError(`cannot read YARD_MCP_SERVERS_FILE: ${String(cause)}`, {
      hint: 'point it to a JSON file such as {"servers": []}',
      cause,
    });
  });
  try {
    return parseServerFile(text, basename(path));
  } catch (error) {
    if (!(error instanceof ServerFileError)) throw error;
    throw new StartError(error.message, { hint: `correct ${path} and start again`, cause: error });
  }
}

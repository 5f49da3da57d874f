import {
  listMessages,
  setLogLevel,
  type LogLevel,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import { findBus, withBus } from "../bus-session.ts";
import { printable, printableLine } from "../printable.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { count } from "../quantities.ts";
import { askMcpServer } from "./ask-mcp-server.ts";

/** The log messages that a server sent over the protocol; what it wrote to stderr is in `yard mcp logs`. */
export async function messages(
  terminal: Terminal,
  server: string,
  options: { tail: number; level?: LogLevel; json?: true },
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), async (bus) => {
    const { level, tail } = options;
    if (level !== undefined) await askMcpServer(bus, setLogLevel, { server, request: { level } });
    return askMcpServer(bus, listMessages, { server, request: { tail } });
  });
  if (options.json) return writeJson(terminal, reply);
  for (const { at, level, logger, text } of reply.messages) {
    const from = logger === null ? "" : `${printableLine(logger)}: `;
    terminal.out(`${at}  ${level.padEnd(9)}  ${from}${printable(text)}`);
  }
  if (reply.dropped > 0)
    terminal.note(
      `${count(reply.dropped, "message")} beyond the limit of a second ${reply.dropped === 1 ? "is" : "are"} not kept`,
    );
}

import { client } from "@switchyard/bus/call";
import { cancelCall } from "@switchyard/contracts/mcp-broker/mcp-calls";
import { findBus, withBus } from "../bus-session.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/** Cancels a call in work that was made with an id by the same user. Exit 1 when there is none. */
export async function cancel(
  terminal: Terminal,
  server: string,
  { callId, json }: { callId: string; json?: true },
): Promise<ExitCode> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { cancelCall }).cancelCall({ callId }, { tokens: { server } }),
  );
  if (json) writeJson(terminal, reply);
  else if (reply.cancelled)
    terminal.note(`call ${callId} is cancelled; ${server} got the request to stop`);
  else terminal.note(`you have no call ${callId} in work at ${server}`);
  return reply.cancelled ? EXIT.ok : EXIT.failed;
}

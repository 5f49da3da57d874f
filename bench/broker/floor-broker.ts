import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { connect, type Msg } from "@nats-io/transport-node";

/**
 * The floor: the least code that does the job. Raw request in, raw request to a stub policy, one
 * call of the official SDK, answer out; no validation, no catalogue, no call store, no metrics.
 */
const nc = await connect({ servers: process.env["BENCH_NATS_URL"] ?? "" });
const client = new Client({ name: "floor", version: "1.0.0" });
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: [process.env["BENCH_ECHO_SERVER"] ?? ""],
  }),
);

async function answer(message: Msg): Promise<void> {
  const { tool, args } = message.json<{ tool: string; args: Record<string, unknown> }>();
  const decision = await nc.request("floor.policy", JSON.stringify({ tool, args }), {
    timeout: 5_000,
  });
  if (!decision.json<{ allow: boolean }>().allow) throw new Error("the stub policy said no");
  const result = await client.callTool({ name: tool, arguments: args });
  message.respond(JSON.stringify(result));
}

nc.subscribe("floor.call", { queue: "q", callback: (_, message) => void answer(message) });
await nc.flush();
process.on("SIGTERM", () => void client.close().then(() => nc.drain()));
process.send?.("ready");
process.channel?.unref();

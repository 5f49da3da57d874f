import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { call } from "@switchyard/bus/call";
import { publishCommand } from "@switchyard/bus/publish";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { connectAsCli } from "../../test/lib/yard-dev.ts";

// The minimal cost of any program over Node.js's own HTTP server: it passes on the body, and has no other function of a gateway.

const { BARE_PORT, BARE_NATS_URL = "", BARE_STATE_DIR = "" } = process.env;
const bus = await connectAsCli({ natsUrl: BARE_NATS_URL, stateDir: BARE_STATE_DIR });

async function answer(request: IncomingMessage): Promise<unknown> {
  const { agent, ...body } = (await json(request)) as Record<string, unknown>; // our own benchmark sends objects
  return request.url?.endsWith("/runs")
    ? publishCommand(bus, startRun, { agent: String(agent) }, startRun.payload.parse(body))
    : call(bus, callTool, callTool.request.parse({ ...body, tool: "echo" }), {
        tokens: { server: "echo" },
      });
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const sent = Buffer.from(JSON.stringify(await answer(request)));
    const headers = { "content-type": "application/json", "content-length": sent.length };
    response.writeHead(200, headers).end(sent);
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}

const server = createServer((request, response) => void serve(request, response));
server.listen(Number(BARE_PORT), "127.0.0.1");
await once(server, "listening");
process.send?.("ready");

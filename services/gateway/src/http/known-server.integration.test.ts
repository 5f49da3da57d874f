import assert from "node:assert/strict";
import { test } from "node:test";
import { serve } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import { listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { approvePins, listPins } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { disconnectServer, getServer } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { startGatewayWorld } from "../../test/gateway-world.ts";
import { sendJson, type Sent } from "../../test/send-json.ts";

const world = await startGatewayWorld(["team-a"]);
const { url } = await world.startGateway();
const onFault = ({ error }: { error: unknown }): void => assert.fail(String(error));
const send = (path: string, sent: Partial<Sent>) => sendJson(path, { at: url, ...sent });

test("every request about an MCP server that does not exist is 404 with the next step", async () => {
  const broker = await world.connectAs("broker");
  const service = serve(broker, { name: "broker", version: "0.1.0", description: "", onFault });
  const fail = failuresOf(getServer.errors);
  service.handle(listTools, ({ server = "" }) => {
    if (server === "gone") throw fail.unknown_server(`MCP server not found: ${server}`, { server });
    return { tools: [], failures: [] };
  });
  service.handle(disconnectServer, () => ({ server: null }));
  service.handle(listPins, () => ({ pins: [], more: false }));
  service.handle(approvePins, ({ server }, { fail: failed }) => {
    throw failed.unknown_pin("never listed", { server, tools: ["x"] });
  });
  await broker.flush();
  const { key } = await world.keyOf("boss", ["admin"]);
  const requests: readonly [method: "GET" | "POST", path: string, body?: object][] = [
    ["GET", "pins"],
    ["GET", "resources"],
    ["GET", "resource-templates"],
    ["GET", "prompts"],
    ["GET", "messages"],
    ["POST", "disconnect"],
    ["POST", "refresh"],
    ["POST", "pins/approve", {}],
    ["POST", "resources/read", { uri: "test://one" }],
    ["POST", "prompts/x", {}],
    ["POST", "log-level", { level: "info" }],
  ];
  for (const [method, path, body] of requests) {
    const gone = await send(`/mcp/servers/gone/${path}`, { method, key, body });
    assert.deepEqual([gone.status, gone.json["code"]], [404, "NOT_FOUND"], path);
    assert.match(String(gone.json["next"]), /mcp\/servers lists the MCP servers/, path);
    const known = await send(`/mcp/servers/known/${path}`, { method, key, body });
    assert.notEqual(known.json["code"], "NOT_FOUND", path);
  }
  await service.drain();
});

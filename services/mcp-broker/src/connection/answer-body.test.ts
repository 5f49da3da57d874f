import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageReader } from "../normalise/message-reader.ts";
import { normalBody, normalEvent } from "./answer-body.ts";
import { uncarriedResult } from "./carried-result.ts";

function asked(method: string): MessageReader {
  const messages = new MessageReader();
  messages.sent({ jsonrpc: "2.0", id: 7, method, params: {} });
  return messages;
}

async function bodyOf(
  body: unknown,
  options: { method?: string; status?: number; type?: string; hasSession?: boolean } = {},
) {
  const {
    method = "x/other",
    status = 200,
    type = "application/json",
    hasSession = false,
  } = options;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const headers = type === "" ? {} : { "content-type": type };
  const response = new Response(new TextEncoder().encode(text), { status, headers });
  const posted = { id: 7, method, status: 0, isStream: false };
  const read = await normalBody(response, { messages: asked(method), posted, hasSession });
  return { status: read.status, type: read.headers.get("content-type"), text: await read.text() };
}
const result = { jsonrpc: "2.0", id: 7, result: { a: 1 } };
const error = (message: string, id: number | null = 7) => ({
  jsonrpc: "2.0",
  id,
  error: { code: -32_000, message },
});

test("a JSON body is read whatever its type is called, and another one stays as it is", async () => {
  for (const type of ["application/json", "application/json; charset=utf-8", "text/plain", ""]) {
    const read = await bodyOf({ ...result, error: null }, { type });
    assert.deepEqual([read.type, JSON.parse(read.text)], ["application/json", result], type);
  }
  const page = await bodyOf("<html>", { type: "text/html" });
  assert.deepEqual(page, { status: 200, type: "text/html", text: "<html>" });
  assert.equal((await bodyOf("busy", { type: "text/plain" })).text, "busy");
});

test("a body that is no message is an error of its request, but not of a handshake", async () => {
  assert.match((await bodyOf("busy")).text, /"error":.*not a JSON-RPC response/);
  assert.equal((await bodyOf("busy", { method: "initialize" })).text, "busy");
});

test("a JSON-RPC error is an answer whatever the status, except one about the session", async () => {
  for (const status of [400, 404, 409, 422, 500, 503])
    assert.equal((await bodyOf(error("no such city"), { status })).status, 200, String(status));
  assert.equal((await bodyOf(error("no", null), { status: 500 })).status, 200);
  assert.equal((await bodyOf(error("no", null), { status: 400, hasSession: true })).status, 200);
  for (const [body, status] of [
    [error("Session not found"), 404],
    [error("Session not found", null), 404],
    [error("gone", null), 410],
    [error("Bad Request: Server not initialized", null), 400],
    [error("Invalid or expired session"), 401],
    [{ error: "invalid_token" }, 400],
    ["no", 404],
  ] as const)
    assert.equal((await bodyOf(body, { status, hasSession: true })).status, status);
  assert.equal((await bodyOf(error("no"), { status: 403 })).status, 403);
  assert.equal((await bodyOf(error("no"), { status: 400, method: "initialize" })).status, 400);
});

test("a result that is nested too deeply to be serialised is an error that names the nesting", async () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const { text } = await bodyOf(`{"jsonrpc":"2.0","id":7,"result":{"a":${deep}}}`);
  assert.match(text, /"error":.*nested too deeply/);
});

test("the message of an event is read from all its lines, and the event keeps its id", () => {
  const event = `id: 5\nevent: message\nretry: 10\ndata: {"jsonrpc":"2.0","id":7,"error":null,\r\ndata: "result":{"content":null}}\n\n`;
  const read = normalEvent(event, asked("tools/call"));
  const lines = read.split("\n");
  assert.deepEqual(lines.slice(0, 3), ["id: 5", "event: message", "retry: 10"]);
  const message = JSON.parse(lines[3]?.replace("data: ", "") ?? "");
  assert.deepEqual(uncarriedResult(message.result), { content: [] });
  assert.ok(read.endsWith("}\n\n"));
});

test("a batch in one event becomes several, and other events stay as they are", () => {
  const note = `{"jsonrpc":"2.0","method":"notifications/note"}`;
  const read = normalEvent(`id: 5\ndata: [${note},${note}]\n\n`, asked("x/other"));
  assert.equal(read, `data: ${note}\n\nid: 5\ndata: ${note}\n\n`);
  for (const event of [": comment\n\n", "event: endpoint\ndata: /messages\n\n", "data: x\n\n"])
    assert.equal(normalEvent(event, asked("x/other")), event);
});

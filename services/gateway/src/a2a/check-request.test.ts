import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestMalformedError } from "@a2a-js/sdk/errors";
import { checkParams, notRpc } from "./check-request.ts";

const parameterIn = (method: string, params: unknown): unknown => {
  try {
    checkParams(method, params);
    return null;
  } catch (error) {
    assert.ok(error instanceof RequestMalformedError, String(error));
    assert.ok(error.message.startsWith(`${String(error.metadata?.["parameter"]) || "params"}: `));
    return error.metadata?.["parameter"];
  }
};
const message = (more: object) => ({
  message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }], ...more },
});

test("a body that is no request of JSON-RPC is -32600, and a request may have any method name", () => {
  for (const body of [
    null,
    5,
    [],
    [{ jsonrpc: "2.0", id: 1, method: "GetTask" }],
    {},
    { jsonrpc: "1.0", method: "GetTask" },
    { jsonrpc: "2.0", id: 1, params: {} },
    { jsonrpc: "2.0", id: 1, method: "" },
    { jsonrpc: "2.0", id: 1, method: 7 },
    { jsonrpc: "2.0", id: {}, method: "GetTask" },
    { jsonrpc: "2.0", id: 1.5, method: "GetTask" },
  ])
    assert.equal(notRpc(body)?.code, -32_600, JSON.stringify(body));
  for (const id of [1, "a", null])
    assert.equal(notRpc({ jsonrpc: "2.0", id, method: "Unknown" }), null);
});

test("a parameter that is missing, malformed or out of its range is named", () => {
  for (const [method, params, parameter] of [
    ["ListTasks", { pageSize: 0 }, "pageSize"],
    ["ListTasks", { pageSize: 101 }, "pageSize"],
    ["ListTasks", { page_size: 2.5 }, "pageSize"],
    ["ListTasks", { pageToken: 3 }, "pageToken"],
    ["ListTasks", { historyLength: -1 }, "historyLength"],
    ["ListTasks", { status: "TASK_STATE_DONE" }, "status"],
    ["ListTasks", { status: 99 }, "status"],
    ["ListTasks", { statusTimestampAfter: "yesterday" }, "statusTimestampAfter"],
    ["ListTasks", { includeArtifacts: "yes" }, "includeArtifacts"],
    ["ListTasks", { contextId: "c".repeat(257) }, "contextId"],
    ["ListTasks", { tenant: "t" }, "tenant"],
    ["ListTasks", [], ""],
    ["GetTask", {}, "id"],
    ["GetTask", { id: "" }, "id"],
    ["GetTask", { id: "a", historyLength: 2 ** 31 }, "historyLength"],
    ["CancelTask", { id: 5 }, "id"],
    ["SubscribeToTask", null, "id"],
    ["SendMessage", {}, "message"],
    ["SendMessage", message({ messageId: undefined }), "message.messageId"],
    ["SendMessage", message({ contextId: "c".repeat(257) }), "message.contextId"],
    ["SendMessage", message({ role: "ROLE_AGENT" }), "message.role"],
    ["SendMessage", message({ parts: [] }), "message.parts"],
    ["SendMessage", message({ parts: [{ text: "" }] }), "message.parts"],
    ["SendMessage", message({ parts: ["hello"] }), "message.parts.0"],
    ["SendMessage", message({ parts: [{ text: "a" }, {}] }), "message.parts.1"],
    ["SendMessage", message({ parts: [{ text: "a", data: {} }] }), "message.parts.0"],
    ["SendMessage", message({ parts: [{ text: 5 }] }), "message.parts.0.text"],
    ["SendMessage", message({ parts: [{ raw: "?" }] }), "message.parts.0.raw"],
    ["SendMessage", message({ parts: [{ url: "not one" }] }), "message.parts.0.url"],
    [
      "SendStreamingMessage",
      { ...message({}), configuration: { historyLength: "all" } },
      "configuration.historyLength",
    ],
    [
      "SendStreamingMessage",
      { ...message({}), configuration: { accepted_output_modes: "text/plain" } },
      "configuration.acceptedOutputModes",
    ],
  ] as const)
    assert.equal(parameterIn(method, params), parameter, `${method} ${JSON.stringify(params)}`);
});

test("requests that clients send are accepted, with names in either form and parameters that are null", () => {
  for (const [method, params] of [
    ["ListTasks", undefined],
    ["ListTasks", { pageSize: 100, status: "TASK_STATE_WORKING", historyLength: 0, tenant: "" }],
    ["ListTasks", { status: 0, statusTimestampAfter: "2026-11-27T10:00:00.123456789+01:00" }],
    ["GetTask", { id: "a", historyLength: null }],
    ["SendMessage", message({ contextId: "", taskId: "", metadata: {}, extensions: [] })],
    [
      "SendMessage",
      { message: { message_id: "m", role: 1, parts: [{ data: 0, media_type: "x" }] } },
    ],
    [
      "SendMessage",
      message({ parts: [{ raw: "aGk=", filename: "a.txt" }, { url: "https://a.example/" }] }),
    ],
    ["GetExtendedAgentCard", undefined],
    ["NoSuchMethod", 5],
  ] as const)
    assert.equal(parameterIn(method, params), null, `${method} ${JSON.stringify(params)}`);
});

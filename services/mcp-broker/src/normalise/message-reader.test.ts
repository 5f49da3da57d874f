import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  isSpecType,
  type JSONRPCMessage,
} from "@modelcontextprotocol/client";
import fc from "fast-check";
import { MALFORMED_ANSWER, MessageReader } from "./message-reader.ts";

/** The message that an answer to this method becomes, and the findings that are reported. */
function answerTo(method: string, answer: object, params: Record<string, unknown> = {}) {
  const findings: string[] = [];
  const messages = new MessageReader((finding) => findings.push(finding));
  messages.sent({ jsonrpc: "2.0", id: 7, method, params });
  const text = JSON.stringify({ jsonrpc: "2.0", id: 7, ...answer });
  const [received] = messages.read(text) ?? [];
  return { message: received?.message as any, findings }; // oxlint-disable-line typescript/no-explicit-any -- a test reads any shape
}
const resultOf = (method: string, result: unknown, params?: Record<string, unknown>) => {
  const { message, findings } = answerTo(method, { result }, params);
  return { result: message?.result, findings };
};
const received = (text: string, sent: readonly JSONRPCMessage[] = []) => {
  const messages = new MessageReader();
  for (const each of sent) messages.sent(each);
  return messages.read(text)?.map(({ message }) => message) ?? null;
};
const ping = (id: number): JSONRPCMessage => ({ jsonrpc: "2.0", id, method: "x/other" });

test("an answer in the prescribed form passes as it is", () => {
  const result = { content: [{ type: "text", text: "a" }], _meta: { own: 1 }, more: [1] };
  assert.deepEqual(resultOf("tools/call", result), { result, findings: [] });
  const error = { code: -1, message: "no", data: 1 };
  assert.deepEqual(answerTo("x/other", { error }).message, { jsonrpc: "2.0", id: 7, error });
});

test("null or a second member beside a result or an error does not spoil it", () => {
  assert.deepEqual(answerTo("x/other", { result: { a: 1 }, error: null, took: 5 }).message, {
    jsonrpc: "2.0",
    id: 7,
    result: { a: 1 },
  });
  const error = { code: 1, message: "no" };
  const message = { jsonrpc: "2.0", id: 7, error };
  assert.deepEqual(answerTo("x/other", { result: null, error, took: 5 }).message, message);
});

test("an answer with a result and an error, or with neither, is an error that names the fault", () => {
  for (const answer of [{ result: {}, error: { code: 1, message: "no" } }, {}, { other: 1 }])
    assert.equal(answerTo("x/other", answer).message.error.message, MALFORMED_ANSWER);
});

const errors: [unknown, number, string][] = [
  ["quota is used up", -32_603, "quota is used up"],
  [{ message: "quota is used up" }, -32_603, "quota is used up"],
  [{ code: "QUOTA", message: "used up" }, -32_603, "used up (QUOTA)"],
  [{ code: "-32602", message: "bad" }, -32_602, "bad"],
  [{ code: 1.5, message: "half" }, -32_603, "half (1.5)"],
  [{ code: 5, message: null, data: "why" }, 5, "why"],
  [{ code: 5, message: { a: 1 } }, 5, '{"a":1}'],
  [{ code: 5, message: "x", data: null }, 5, "x"],
  [{}, -32_603, "the server gave no reason"],
  [["a", 1], -32_603, '["a",1]'],
  [true, -32_603, "true"],
];
for (const [error, code, message] of errors)
  test(`the error ${JSON.stringify(error)} has the code ${code} and a text`, () => {
    const { message: read } = answerTo("tools/call", { error });
    assert.ok(isJSONRPCErrorResponse(read));
    assert.deepEqual([read.error.code, read.error.message], [code, message]);
  });

test("an error without an id ends the only request that is open, and no other", () => {
  const line = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`;
  const [only] = received(line, [ping(3)]) ?? [];
  assert.ok(only !== undefined && isJSONRPCErrorResponse(only) && only.id === 3);
  assert.equal(received(line, [ping(3), ping(4)]), null);
  assert.equal(received(line), null);
});

test("an id that comes back as text is the id of its request", () => {
  const [answer] = received(`{"jsonrpc":"2.0","id":"3","result":{"a":1}}`, [ping(3)]) ?? [];
  assert.ok(answer !== undefined && isJSONRPCResultResponse(answer) && answer.id === 3);
});

test("an answer that is not JSON because of NaN is an error of its request at once", () => {
  const [answer] = received(`{"jsonrpc":"2.0","id":3,"result":{"a":NaN}}`, [ping(3)]) ?? [];
  assert.ok(answer !== undefined && isJSONRPCErrorResponse(answer) && answer.id === 3);
  assert.match(answer.error.message, /NaN/);
});

test("a log line on stdout is no message", () => {
  for (const line of [`{"level":"info"}`, `{"id":3,"error":"x"}`, `{"method":"GET"}`, "ready"])
    assert.equal(received(line, [ping(3)]), null, line);
});

test("a member of a handshake that is null counts as absent", () => {
  const { result, findings } = resultOf("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: { tools: null, prompts: { listChanged: null }, resources: {}, logging: [] },
    serverInfo: { name: "s", version: "1", title: null, icons: null, websiteUrl: null },
    instructions: null,
    _meta: null,
    own: { kept: null },
  });
  assert.deepEqual(result, {
    protocolVersion: "2025-06-18",
    capabilities: { prompts: {}, resources: {}, logging: {} },
    serverInfo: { name: "s", version: "1" },
    own: { kept: null },
  });
  assert.deepEqual(findings, []);
});

test("a handshake with missing or wrong members connects, and each is reported", () => {
  for (const [members, pointer] of [
    [{ capabilities: null }, null],
    [{ capabilities: [] }, null],
    [{ capabilities: "all" }, "/capabilities"],
    [{ capabilities: { tools: true, prompts: false } }, null],
    [{ capabilities: { tools: "yes" } }, "/capabilities/tools"],
    [{ serverInfo: null }, "/serverInfo/name"],
    [{ serverInfo: { name: "s" } }, "/serverInfo/version"],
    [{ serverInfo: { name: "s", version: 2 } }, "/serverInfo/version"],
    [{ protocolVersion: null }, "/protocolVersion"],
    [{ instructions: ["a"] }, "/instructions"],
  ] as const) {
    const { result, findings } = resultOf("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "s", version: "1" },
      ...members,
    });
    assert.ok(isSpecType.InitializeResult(result), JSON.stringify(members));
    if (pointer === null) assert.deepEqual(findings, [], JSON.stringify(members));
    else assert.match(findings.join("\n"), new RegExp(`result of initialize, ${pointer}`));
  }
});

const lists = [
  ["resources/list", "resources", { uri: "file:///a", name: "a" }],
  ["resources/templates/list", "resourceTemplates", { uriTemplate: "file:///{a}", name: "a" }],
  ["prompts/list", "prompts", { name: "a" }],
] as const;
for (const [method, key, entry] of lists)
  test(`one bad entry of ${method} never hides its neighbours`, () => {
    const nulls = { title: null, description: null, icons: null, annotations: null, _meta: null };
    const odd = { ...entry, title: 5, description: {}, icons: [{}, { src: "x" }], own: 1 };
    const { result, findings } = resultOf(method, {
      [key]: [null, "x", {}, { ...entry, ...nulls }, odd, entry],
      nextCursor: null,
      _meta: null,
    });
    const known = { ...entry, ...(method === "prompts/list" && { annotations: null }) };
    assert.deepEqual(result[key], [known, { ...entry, icons: [{ src: "x" }], own: 1 }, entry]);
    assert.deepEqual(Object.keys(result), [key]);
    const reported = findings.map((finding) => /, ([^:]*):/.exec(finding)?.[1] ?? finding);
    assert.deepEqual(
      reported.toSorted(),
      ["0", "1", "2", "4/description", "4/icons/0", "4/title"].map((at) => `/${key}/${at}`),
    );
    assert.deepEqual(resultOf(method, { [key]: null }).result, { [key]: [] });
  });

test("a resource without a name has its URI as one, and a cursor that is a number is sent back as text", () => {
  const resources = [{ uri: "file:///a", name: null }];
  const { result, findings } = resultOf("resources/list", { resources, nextCursor: 2 });
  assert.deepEqual(result, {
    resources: [{ uri: "file:///a", name: "file:///a" }],
    nextCursor: "2",
  });
  assert.equal(findings.length, 2);
});

test("the messages of a prompt reach the caller, whatever their content is", () => {
  const { result } = resultOf("prompts/get", {
    description: null,
    messages: [
      { role: "user", content: "plain" },
      { role: "system", content: { type: "text", text: "a", annotations: null } },
      { role: "assistant", content: [{ type: "text", text: "b" }, { type: "hologram" }] },
      null,
      { role: "user", content: null },
    ],
  });
  assert.deepEqual(result, {
    messages: [
      { role: "user", content: { type: "text", text: "plain" } },
      { role: "user", content: { type: "text", text: "a" } },
      { role: "assistant", content: { type: "text", text: "b" } },
      { role: "assistant", content: { type: "hologram" } },
    ],
  });
});

test("the contents of a resource may be a single one, without its URI and with nulls", () => {
  const contents = { uri: null, mimeType: null, text: "t", blob: null, _meta: null };
  const { result } = resultOf("resources/read", { contents }, { uri: "file:///a" });
  assert.deepEqual(result, { contents: [{ uri: "file:///a", text: "t" }] });
  assert.ok(isSpecType.ReadResourceResult(result));
});

test("a completion keeps the values that are texts", () => {
  const completion = { values: ["a", 5, "b"], total: null, hasMore: "no" };
  const { result } = resultOf("completion/complete", { completion });
  assert.deepEqual(result, { completion: { values: ["a", "b"] } });
});

test("an answer to a request without a result may be anything", () => {
  for (const result of [null, {}, "ok", [], { ok: true }])
    assert.deepEqual(resultOf("ping", result).result, {});
});

test("a tool's answer that is no object is its content", () => {
  for (const [answer, content] of [
    [null, []],
    ["text", [{ type: "text", text: "text" }]],
    [[{ type: "text", text: "a" }], [{ type: "text", text: "a" }]],
  ])
    assert.deepEqual(resultOf("tools/call", answer).result.content, content);
});

test("a notification keeps its required members, and null counts as absent", () => {
  const params = { progressToken: 1, progress: 2, total: null, message: null, _meta: null };
  const line = JSON.stringify({
    jsonrpc: "2.0",
    method: "notifications/progress",
    params,
    id: null,
  });
  assert.deepEqual(received(line), [
    { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 2 } },
  ]);
  const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
  for (const more of [{}, { params: null }, { params: [] }, { more: 1 }])
    assert.deepEqual(received(JSON.stringify({ ...changed, ...more })), [changed]);
});

test("a request of a server loses its nulls, but not those of values that are its own", () => {
  const params = {
    message: "Which?",
    requestedSchema: { type: "object", properties: { a: { type: "string", title: null } } },
    _meta: { own: null },
    mode: null,
  };
  const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "elicitation/create", params });
  const [request] = received(line) ?? [];
  assert.deepEqual(request !== undefined && "method" in request && request.params, {
    message: "Which?",
    requestedSchema: { type: "object", properties: { a: { type: "string" } } },
    _meta: { own: null },
  });
});

test("a finding is reported once, and a hundred of a connection at most", () => {
  const findings: string[] = [];
  const messages = new MessageReader((finding) => findings.push(finding));
  for (let id = 0; id < 300; id += 1) {
    messages.sent({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "a" } });
    const result = { content: [], [id < 2 ? "isError" : `x`]: "no", _meta: id < 2 ? {} : "m" };
    messages.read(JSON.stringify({ jsonrpc: "2.0", id, result }));
  }
  assert.equal(findings.length, 2);
  for (let id = 0; id < 300; id += 1) {
    messages.sent({ jsonrpc: "2.0", id, method: "tools/call", params: { name: `tool ${id}` } });
    messages.read(JSON.stringify({ jsonrpc: "2.0", id, result: { content: 5 } }));
  }
  assert.equal(findings.length, 100);
});

// One member of a valid message is mutated: its neighbours survive, and the SDK accepts the whole.
const valid: Record<string, Record<string, unknown>> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
    serverInfo: { name: "s", version: "1", title: "t" },
    instructions: "i",
  },
  "tools/call": {
    content: [
      { type: "text", text: "one", annotations: { priority: 1 }, _meta: { a: 1 } },
      { type: "resource_link", uri: "file:///a", name: "a", title: "t", size: 1 },
      { type: "resource", resource: { uri: "file:///a", mimeType: "text/plain", text: "x" } },
      { type: "image", data: "aGk=", mimeType: "image/png" },
    ],
    structuredContent: { a: 1 },
    isError: false,
    _meta: { a: 1 },
  },
  "resources/list": {
    resources: [
      { uri: "file:///a", name: "a", title: "t", description: "d", mimeType: "m/m", size: 1 },
      { uri: "file:///b", name: "b", annotations: { audience: ["user"], priority: 0 } },
      { uri: "file:///c", name: "c", icons: [{ src: "data:,", sizes: ["any"] }], _meta: {} },
    ],
    nextCursor: "2",
  },
  "resources/templates/list": {
    resourceTemplates: [
      { uriTemplate: "a:{b}", name: "a", description: "d" },
      { uriTemplate: "b:{b}", name: "b", mimeType: "m/m" },
    ],
  },
  "prompts/list": {
    prompts: [
      { name: "a", title: "t", arguments: [{ name: "x", required: true, description: "d" }] },
      { name: "b", description: "d", icons: [] },
    ],
  },
  "prompts/get": {
    description: "d",
    messages: [
      { role: "user", content: { type: "text", text: "a" } },
      { role: "assistant", content: { type: "resource_link", uri: "file:///a", name: "a" } },
    ],
  },
  "resources/read": {
    contents: [
      { uri: "file:///a", mimeType: "text/plain", text: "a" },
      { uri: "file:///b", blob: "aGk=", _meta: {} },
    ],
  },
  "completion/complete": { completion: { values: ["a", "b"], total: 2, hasMore: false } },
};
const TYPES: Record<string, (value: unknown) => boolean> = {
  initialize: isSpecType.InitializeResult,
  "tools/call": isSpecType.CallToolResult,
  "resources/list": isSpecType.ListResourcesResult,
  "resources/templates/list": isSpecType.ListResourceTemplatesResult,
  "prompts/list": isSpecType.ListPromptsResult,
};
const SPOILED = [null, undefined, 5, "x", true, [], {}, [null], "y".repeat(10_000)];

/** The paths of all members of a value. */
function pathsOf(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return path.length === 0 ? [] : [[...path]];
  const keys: (string | number)[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  const below = keys.flatMap((key) => pathsOf(Reflect.get(value, key), [...path, key]));
  return path.length === 0 ? below : [[...path], ...below];
}

function spoiled(value: object, path: readonly (string | number)[], member: unknown): unknown {
  const copy: object = structuredClone(value);
  let at: object = copy;
  for (const key of path.slice(0, -1)) at = Reflect.get(at, key);
  Reflect.set(at, path.at(-1) ?? "", member);
  return copy;
}

for (const [method, result] of Object.entries(valid))
  test(`with any one member of its result spoiled, ${method} keeps the others`, () => {
    for (const path of pathsOf(result))
      for (const member of SPOILED) {
        const where = `${path.join("/")} = ${JSON.stringify(member ?? "undefined").slice(0, 20)}`;
        const { message, findings } = answerTo(method, { result: spoiled(result, path, member) });
        for (const finding of findings)
          assert.doesNotMatch(finding, /expected|invalid_|\n/i, where);
        if (isJSONRPCErrorResponse(message)) {
          assert.ok(path.length <= 2 && message.error.message === MALFORMED_ANSWER, where);
          continue;
        }
        const read: Record<string, unknown> = message.result;
        // Content of an unknown type is kept, which the SDK's schema refuses; carried results do not meet it.
        const isOther = path.at(-1) === "type" && typeof member === "string";
        if (!isOther) assert.ok(TYPES[method]?.(read) ?? true, `${where}: ${JSON.stringify(read)}`);
        for (const [name, list] of Object.entries(result)) {
          if (!Array.isArray(list) || path[0] !== name || path.length === 1) continue;
          const others = list.filter((_, index) => index !== path[1]);
          const kept: unknown = read[name];
          assert.ok(Array.isArray(kept), where);
          for (const other of others)
            assert.ok(
              kept.some((each) => JSON.stringify(each) === JSON.stringify(other)),
              `${where} hides ${JSON.stringify(other)}`,
            );
        }
      }
  });

test("a message with an id and no method becomes an answer that the protocol layer accepts", () => {
  const part = fc.option(
    fc.oneof(
      fc.json().map((text) => JSON.parse(text) as unknown),
      fc.record({ code: fc.integer(), message: fc.string() }, { requiredKeys: [] }),
    ),
    { nil: undefined },
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.keys(valid), "tools/list", "x/other", "ping"),
      part,
      part,
      part,
      (method, result, error, more) => {
        const { message } = answerTo(method, { result, error, more });
        assert.ok(isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message));
      },
    ),
    { numRuns: 300, seed: 44 },
  );
});

test("a message with a method becomes one that the protocol layer accepts, or is ignored", () => {
  const json = fc.json().map((text) => JSON.parse(text) as unknown);
  const method = fc.constantFrom("notifications/progress", "notifications/message", "ping", "x");
  const message = fc.record(
    { method, params: json, id: json, more: json },
    { requiredKeys: ["method"] },
  );
  fc.assert(
    fc.property(message, (members) => {
      for (const read of received(JSON.stringify({ jsonrpc: "2.0", ...members })) ?? [])
        assert.ok(isJSONRPCRequest(read) || isJSONRPCNotification(read), JSON.stringify(read));
    }),
    { numRuns: 300, seed: 44 },
  );
});

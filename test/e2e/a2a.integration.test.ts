import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { Role, TaskState, type Message, type SendMessageRequest, type Task } from "@a2a-js/sdk";
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from "@a2a-js/sdk/client";
import { until } from "@switchyard/local-servers/until";
import { startProtocolsWorld } from "../lib/protocols-world.ts";

const world = await startProtocolsWorld({ YARD_A2A_AGENT: "helper" });

async function clientOf(agent: string, key = world.token) {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${key}`);
    return fetch(input, { ...init, headers });
  };
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }),
  );
  return factory.createFromUrl(`${world.url}/a2a/${agent}/`);
}

function request(
  text: string | object,
  more: Partial<Message> & { returnImmediately?: boolean; acceptedOutputModes?: string[] } = {},
): SendMessageRequest {
  const { returnImmediately = false, acceptedOutputModes = [], ...about } = more;
  const content =
    typeof text === "string"
      ? { $case: "text" as const, value: text }
      : { $case: "data" as const, value: text };
  return {
    tenant: "",
    message: {
      messageId: randomUUID(),
      contextId: "",
      taskId: "",
      role: Role.ROLE_USER,
      parts: [{ content, metadata: undefined, filename: "", mediaType: "" }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...about,
    },
    configuration: {
      acceptedOutputModes,
      taskPushNotificationConfig: undefined,
      returnImmediately,
    },
    metadata: undefined,
  };
}

const isTask = (value: Task | Message): Task =>
  "status" in value ? value : assert.fail("a message, not a task");
const answerOf = (task: Task): string =>
  task.artifacts
    .flatMap(({ parts }) => parts)
    .map(({ content }) => (content?.$case === "text" ? content.value : ""))
    .join("");
const nameOf = (state: TaskState | undefined): string => TaskState[state ?? 0] ?? "";
const stateOf = (task: Task): string => nameOf(task.status?.state);

test("a message is a run whose task has the answer, and the same message again is the same task", async () => {
  const client = await clientOf("helper");
  const sent = request("hello", { contextId: "talk-1" });
  const task = isTask(await client.sendMessage(sent));
  assert.equal(stateOf(task), "TASK_STATE_COMPLETED");
  assert.equal(task.contextId, "talk-1");
  assert.match(answerOf(task), /^You said hello\. The tool said: This is a simple text/);
  assert.equal(isTask(await client.sendMessage(sent)).id, task.id);
  const alone = request("hello");
  const first = isTask(await client.sendMessage(alone));
  for (const repeat of [1, 2]) {
    const again = isTask(await client.sendMessage(alone));
    assert.deepEqual([again.id, again.contextId], [first.id, first.contextId], `${repeat}`);
  }
  const { messageId = "" } = alone.message ?? {};
  const other = isTask(await client.sendMessage(request("something else", { messageId })));
  assert.notEqual(other.id, first.id, "another message with the id of an earlier one");
  const got = await client.getTask({ tenant: "", id: task.id });
  assert.equal(answerOf(got), answerOf(task));
  const next = isTask(await client.sendMessage(request("again", { contextId: "talk-1" })));
  assert.notEqual(next.id, task.id);
  const closed = client.sendMessage(request("more", { taskId: task.id }));
  await assert.rejects(closed, /has ended/);
});

test("a stream begins with the task, publishes tools and text, and ends with its state", async () => {
  const client = await clientOf("helper");
  const kinds: string[] = [];
  let text = "";
  let last = "";
  for await (const { payload } of client.sendMessageStream(request("hello"))) {
    kinds.push(payload?.$case ?? "");
    if (payload?.$case === "artifactUpdate") {
      const [part] = payload.value.artifact?.parts ?? [];
      const said = part?.content?.$case === "text" ? part.content.value : "";
      text = payload.value.append ? text + said : said;
    }
    if (payload?.$case === "statusUpdate") last = nameOf(payload.value.status?.state);
  }
  assert.equal(kinds[0], "task");
  assert.equal(last, "TASK_STATE_COMPLETED");
  assert.match(text, /^You said hello\. The tool said:/);
});

test("the metadata of a stream has tools and runs of other agents, and at the end what was used", async () => {
  const client = await clientOf("boss");
  const reported: Record<string, unknown>[] = [];
  for await (const { payload } of client.sendMessageStream(request("hello")))
    if (payload?.$case === "statusUpdate" && payload.value.metadata)
      reported.push(payload.value.metadata);
  assert.deepEqual(
    reported.slice(0, -1).map(({ what }) => what),
    ["requested", "child-started", "child-ended", "completed"],
  );
  const [usage] = reported
    .slice(-1)
    .map((metadata) => metadata["usage"] as { inputTokens?: number });
  assert.equal(typeof usage?.inputTokens, "number");
});

test("an answer in JSON is data or the parts that it names, in a stream when it is whole, and text for a client that takes no JSON", async () => {
  const client = await clientOf("tck");
  const partsOf = (task: Task) => task.artifacts.flatMap(({ parts }) => parts);
  const data = isTask(await client.sendMessage(request("tck-artifact-data")));
  assert.deepEqual(
    partsOf(data).map(({ content }) => content),
    [{ $case: "data", value: { key: "value", count: 42 } }],
  );
  const file = isTask(await client.sendMessage(request("tck-artifact-file")));
  const [part] = partsOf(file);
  assert.equal(
    part?.content?.$case === "raw" && part.content.value.toString(),
    "Generated file content",
  );
  assert.deepEqual([part?.filename, part?.mediaType], ["output.txt", "text/plain"]);
  const again = await client.getTask({ tenant: "", id: file.id });
  assert.deepEqual(again.artifacts, file.artifacts);

  const reported: unknown[] = [];
  for await (const { payload } of client.sendMessageStream(request("tck-artifact-file-url")))
    if (payload?.$case === "artifactUpdate")
      reported.push(payload.value.artifact?.parts.map(({ content }) => content?.$case));
  assert.deepEqual(reported, [["url"]]);

  const plain = request("tck-artifact-data", { acceptedOutputModes: ["text/plain"] });
  const text = isTask(await client.sendMessage(plain));
  assert.equal(answerOf(text), '{"key":"value","count":42}');
  const shown = await client.getTask({ tenant: "", id: text.id });
  assert.deepEqual(shown.artifacts, text.artifacts);
});

test("a question makes the task wait for input, an approval for a decision, and a message to it is either", async () => {
  const curious = await clientOf("curious");
  const asked = isTask(await curious.sendMessage(request("x")));
  assert.equal(stateOf(asked), "TASK_STATE_INPUT_REQUIRED");
  assert.deepEqual(
    await curious.getTask({ tenant: "", id: asked.id }),
    asked,
    "the same task twice",
  );
  const reported = isTask(await curious.sendMessage(request("green", { taskId: asked.id })));
  assert.match(answerOf(reported), /The colour is .*green/);

  const careful = await clientOf("careful");
  const parked = isTask(await careful.sendMessage(request("paint")));
  assert.equal(stateOf(parked), "TASK_STATE_AUTH_REQUIRED");
  const [approval] = (parked.status?.message?.parts ?? []).flatMap(({ content }) =>
    content?.$case === "data" ? [content.value as { approvalId: string }] : [],
  );
  assert.ok(approval);
  const yes = { approvalId: approval.approvalId, approve: true };
  const done = isTask(await careful.sendMessage(request(yes, { taskId: parked.id })));
  assert.match(answerOf(done), /Done: guarded \{"what":"paint"\}/);
});

test("a task is followed again, cancelled and listed, and belongs to its caller alone", async () => {
  const client = await clientOf("patient");
  const begun = isTask(await client.sendMessage(request("x", { returnImmediately: true })));
  await until(async () => {
    const now = await client.getTask({ tenant: "", id: begun.id });
    return stateOf(now) === "TASK_STATE_WORKING";
  });
  const states: string[] = [];
  const following = (async () => {
    for await (const { payload } of client.resubscribeTask({ tenant: "", id: begun.id })) {
      if (payload?.$case === "task") states.push(stateOf(payload.value));
      if (payload?.$case === "statusUpdate") states.push(nameOf(payload.value.status?.state));
    }
  })();
  await until(() => Promise.resolve(states.length > 0));
  const other = await clientOf("patient", await world.keyOf("other", ["operator"]));
  await assert.rejects(other.getTask({ tenant: "", id: begun.id }), /there is no task/);
  await assert.rejects(
    other.cancelTask({ tenant: "", id: begun.id, metadata: undefined }),
    /there is no task/,
  );
  const cancelled = await client.cancelTask({ tenant: "", id: begun.id, metadata: undefined });
  assert.equal(stateOf(cancelled), "TASK_STATE_CANCELED");
  await following;
  assert.equal(states[0], "TASK_STATE_WORKING");
  assert.equal(states.at(-1), "TASK_STATE_CANCELED");
  const { tasks } = await client.listTasks({
    tenant: "",
    contextId: "",
    status: TaskState.TASK_STATE_UNSPECIFIED,
    pageToken: "",
    statusTimestampAfter: undefined,
  });
  assert.ok(tasks.some(({ id }) => id === begun.id));
});

// The mandatory checks of the A2A TCK (its branch 1.0-dev of May 2026), which needs Python packages, by their names there.

interface RpcAnswer {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result?: Record<string, unknown>;
  readonly error?: { code: number; message: string; data?: Record<string, unknown>[] };
}

async function rpc(
  method: string,
  params: object,
  { agent = "helper", version = "1.0" }: { agent?: string; version?: string } = {},
): Promise<RpcAnswer> {
  const response = await fetch(`${world.url}/a2a/${agent}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${world.token}`,
      "content-type": "application/json",
      "a2a-version": version,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }),
  });
  assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
  const answer = (await response.json()) as RpcAnswer;
  assert.deepEqual([answer.jsonrpc, answer.id], ["2.0", 7]);
  return answer;
}
interface RawTask {
  id: string;
  contextId: string;
  status: { state: string; timestamp: string };
  artifacts?: unknown[];
  history?: { role: string; parts: { text?: string }[] }[];
}
const textIn = ({ role, parts }: { role: string; parts: { text?: string }[] }) =>
  `${role}: ${parts.map(({ text }) => text).join()}`;
const message = (text: string, more: object = {}) => ({
  message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more },
});
async function taskFor(text: string, more: object = {}, agent = "helper"): Promise<RawTask> {
  const { result, error } = await rpc("SendMessage", message(text, more), { agent });
  assert.equal(error, undefined);
  return result?.["task"] as RawTask;
}

test("each error has the code and reason that A2A gives it [JSONRPC-ERR-001..003, CORE-SEND-002..003, CORE-CANCEL-002..003, CORE-CAP-001, CORE-CAP-003, CORE-MULTI-004, CORE-MULTI-006, STREAM-SUB-003..004, VER-SERVER-002..003]", async () => {
  const { id, contextId } = await taskFor("hello");
  const raw = { parts: [{ raw: "dGNr", mediaType: "application/x-unsupported-tck-type" }] };
  const push = { taskId: id, id: "1", url: "https://example.com/" };
  const file = message("", raw);
  const checks: [string, object, number, string, { version?: string }?][] = [
    ["GetTask", { id: "none" }, -32_001, "TASK_NOT_FOUND"],
    ["CancelTask", { id: "none" }, -32_001, "TASK_NOT_FOUND"],
    ["SubscribeToTask", { id: "none" }, -32_001, "TASK_NOT_FOUND"],
    ["SendMessage", message("x", { taskId: "none" }), -32_001, "TASK_NOT_FOUND"],
    ["CancelTask", { id }, -32_002, "TASK_NOT_CANCELABLE"],
    ["CreateTaskPushNotificationConfig", push, -32_003, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
    ["GetTaskPushNotificationConfig", push, -32_003, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
    ["ListTaskPushNotificationConfigs", { taskId: id }, -32_003, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
    ["DeleteTaskPushNotificationConfig", push, -32_003, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
    ["SendMessage", message("x", { taskId: id }), -32_004, "UNSUPPORTED_OPERATION"],
    ["SubscribeToTask", { id }, -32_004, "UNSUPPORTED_OPERATION"],
    ["SendMessage", file, -32_005, "CONTENT_TYPE_NOT_SUPPORTED"],
    ["SendStreamingMessage", file, -32_005, "CONTENT_TYPE_NOT_SUPPORTED"],
    ["GetExtendedAgentCard", {}, -32_007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"],
    ["SendMessage", message("x"), -32_009, "VERSION_NOT_SUPPORTED", { version: "99.0" }],
    ["SendMessage", message("x"), -32_009, "VERSION_NOT_SUPPORTED", { version: "" }],
  ];
  for (const [method, params, code, reason, options] of checks) {
    const { error } = await rpc(method, params, options);
    const [info] = error?.data ?? [];
    assert.deepEqual(
      [error?.code, info?.["reason"], info?.["domain"], info?.["@type"]],
      [code, reason, "a2a-protocol.org", "type.googleapis.com/google.rpc.ErrorInfo"],
      `${method}: ${JSON.stringify(error)}`,
    );
  }
  for (const [method, params, code] of [
    ["NoSuchMethod", {}, -32_601],
    ["SendMessage", {}, -32_602],
  ] as const)
    assert.equal((await rpc(method, params)).error?.code, code, method);
  for (const [method, params, parameter] of [
    ["ListTasks", { pageToken: "none" }, "pageToken"],
    ["ListTasks", { pageSize: 1_000 }, "pageSize"],
    ["GetTask", { id, historyLength: -1 }, "historyLength"],
    ["SendMessage", message("x", { contextId: "c".repeat(300) }), "message.contextId"],
    ["SendMessage", message("x", { parts: [{}] }), "message.parts.0"],
    ["SendStreamingMessage", message(""), "message.parts"],
  ] as const) {
    const { error } = await rpc(method, params);
    const reported = error?.data?.[0]?.["metadata"] as { parameter?: string } | undefined;
    assert.deepEqual(
      [error?.code, reported?.parameter],
      [-32_602, parameter],
      JSON.stringify(error),
    );
    assert.doesNotMatch(JSON.stringify(error), /yard\./);
  }
  for (const [type, body, status, code] of [
    ["text/plain", "{}", 415, -32_005],
    ["application/json", "{", 400, -32_700],
    ["application/json", '{"jsonrpc":"2.0","id":1,"params":{}}', 200, -32_600],
    ["application/json", "[]", 200, -32_600],
  ] as const) {
    const headers = { authorization: `Bearer ${world.token}`, "content-type": type };
    const response = await fetch(`${world.url}/a2a/helper`, { method: "POST", headers, body });
    const { error } = (await response.json()) as RpcAnswer;
    assert.deepEqual([response.status, error?.code], [status, code]);
  }
  const waiting = await taskFor("x", {}, "curious");
  const other = message("y", { taskId: waiting.id, contextId });
  assert.equal((await rpc("SendMessage", other, { agent: "curious" })).error?.code, -32_602);
  const reported = await taskFor("green", { taskId: waiting.id }, "curious");
  assert.equal(reported.contextId, waiting.contextId, "the context is that of the task");
});

test("tasks are listed in pages, the last changed first, without artifacts [CORE-LIST-001..005, DM-SERIAL-001..003, CORE-MULTI-001a, CORE-MULTI-003, VER-CLIENT-002]", async () => {
  const talk = `pages-${randomUUID()}`;
  const made = [];
  for (let n = 0; n < 3; n += 1) made.push(await taskFor(`${n}`, { contextId: talk }));
  assert.equal(new Set(made.map(({ id }) => id)).size, 3);
  for (const { status } of made) {
    assert.equal(status.state, "TASK_STATE_COMPLETED");
    assert.equal(new Date(status.timestamp).toISOString(), status.timestamp);
  }
  assert.notEqual((await taskFor("alone")).contextId, "");
  const page = async (pageToken: string) => {
    const params = { contextId: talk, pageSize: 2, pageToken };
    const { result } = await rpc("ListTasks", params, { version: "1.0.7" });
    return result as { tasks: RawTask[]; nextPageToken: string; totalSize: number };
  };
  const first = await page("");
  const second = await page(first.nextPageToken);
  assert.deepEqual([first.tasks.length, second.tasks.length, first.totalSize], [2, 1, 3]);
  assert.equal(second.nextPageToken, "");
  const listed = [...first.tasks, ...second.tasks];
  assert.deepEqual(new Set(listed.map(({ id }) => id)), new Set(made.map(({ id }) => id)));
  const times = listed.map(({ status }) => status.timestamp);
  assert.deepEqual(times, times.toSorted().toReversed());
  assert.ok(listed.every(({ artifacts = [] }) => artifacts.length === 0));
});

test("historyLength is the number of the last messages that a task has, and artifacts are listed where they are wanted", async () => {
  const configuration = { historyLength: 5 };
  const { result } = await rpc(
    "SendMessage",
    { ...message("hello"), configuration },
    { agent: "curious" },
  );
  assert.ok(result);
  const { id, history = [] } = result["task"] as RawTask;
  assert.deepEqual(history.map(textIn), ["ROLE_USER: hello"]);
  await rpc("SendMessage", message("green", { taskId: id }), { agent: "curious" });
  const get = async (historyLength?: number) => {
    const { result: got } = await rpc("GetTask", { id, historyLength }, { agent: "curious" });
    return ((got as RawTask | undefined)?.history ?? []).map(textIn);
  };
  const whole = ["ROLE_USER: hello", "ROLE_AGENT: Which colour?", "ROLE_USER: green"];
  assert.deepEqual(await get(10), whole);
  assert.deepEqual(await get(2), whole.slice(-2));
  assert.deepEqual(await get(0), []);
  assert.deepEqual(await get(), []);
  const wanted = { includeArtifacts: true, historyLength: 1, pageSize: 1 };
  const { result: listed } = await rpc("ListTasks", wanted, { agent: "curious" });
  assert.ok(listed);
  const [task] = listed["tasks"] as RawTask[];
  assert.equal(task?.artifacts?.length, 1);
  assert.deepEqual(task?.history?.map(textIn), whole.slice(-1));
  const none = { statusTimestampAfter: new Date(Date.now() + 60_000).toISOString() };
  const { result: later } = await rpc("ListTasks", none, { agent: "curious" });
  assert.deepEqual(later?.["tasks"], []);
});

test("the card of the agent that YARD_A2A_AGENT names is at the host's root, too, and its client may cache it [CARD-CACHE-001]", async () => {
  const headers = { authorization: `Bearer ${world.token}` };
  const cardAt = async (path: string) => {
    const answer = await fetch(`${world.url}${path}.well-known/agent-card.json`, { headers });
    assert.equal(answer.headers.get("cache-control"), "private, max-age=60");
    return answer.json();
  };
  const card = await cardAt("/");
  assert.equal((card as { name?: string }).name, "helper");
  assert.deepEqual(card, await cardAt("/a2a/helper/"));
  const refused = await fetch(`${world.url}/.well-known/agent-card.json`);
  assert.equal(refused.status, 401);
});

test("each client that follows a task receives the same in the same order, whether or not another one has left [STREAM-ORDER-001..004, STREAM-SUB-001..002]", async () => {
  const client = await clientOf("patient");
  const begun = isTask(await client.sendMessage(request("x", { returnImmediately: true })));
  const follow = async (received: string[], most = Infinity) => {
    for await (const event of client.resubscribeTask({ tenant: "", id: begun.id })) {
      received.push(JSON.stringify(event.payload?.$case === "task" ? "task" : event));
      if (received.length >= most) return;
    }
  };
  const [first, second, left]: [string[], string[], string[]] = [[], [], []];
  const both = Promise.all([follow(first), follow(second), follow(left, 1)]);
  await until(() => Promise.resolve(first.length > 0 && second.length > 0 && left.length > 0));
  await client.cancelTask({ tenant: "", id: begun.id, metadata: undefined });
  await both;
  assert.equal(first[0], '"task"');
  assert.deepEqual(second, first);
  assert.match(first.at(-1) ?? "", /statusUpdate/);
});

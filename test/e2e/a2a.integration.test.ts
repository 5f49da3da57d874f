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

const world = await startProtocolsWorld();

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
  more: Partial<Message> & { returnImmediately?: boolean } = {},
): SendMessageRequest {
  const { returnImmediately = false, ...about } = more;
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
      acceptedOutputModes: [],
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
  const got = await client.getTask({ tenant: "", id: task.id });
  assert.equal(answerOf(got), answerOf(task));
  const next = isTask(await client.sendMessage(request("again", { contextId: "talk-1" })));
  assert.notEqual(next.id, task.id);
  const closed = client.sendMessage(request("more", { taskId: task.id }));
  await assert.rejects(closed, /has ended/);
});

test("a stream begins with the task, tells tools and text, and ends with its state", async () => {
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

test("a question makes the task wait for input, an approval for a decision, and a message to it is either", async () => {
  const curious = await clientOf("curious");
  const asked = isTask(await curious.sendMessage(request("x")));
  assert.equal(stateOf(asked), "TASK_STATE_INPUT_REQUIRED");
  const told = isTask(await curious.sendMessage(request("green", { taskId: asked.id })));
  assert.match(answerOf(told), /The colour is .*green/);

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

test("a task is followed again, cancelled and listed, and is nobody else's", async () => {
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

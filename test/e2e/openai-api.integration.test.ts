import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { until } from "@switchyard/local-servers/until";
import OpenAI from "openai";
import { pathWithCurl } from "../lib/curl.ts";
import { startProtocolsWorld } from "../lib/protocols-world.ts";

const world = await startProtocolsWorld();
const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${world.url}/v1`, apiKey });
const client = clientOf(world.token);
const user = (content: string) => [{ role: "user" as const, content }];
const ANSWER = /^You said hello\. The tool said: This is a simple text response/;

const statusOf = async (agent: string) => {
  const { runs } = (await world.send(`/runs?agent=${agent}&limit=1`)) as {
    runs: { status: string }[];
  };
  return runs[0]?.status;
};

test("agents are models, and errors are of the client's own classes", async () => {
  const models = await client.models.list();
  assert.ok(models.data.some(({ id }) => id === "helper"));
  assert.equal((await client.models.retrieve("helper")).owned_by, "switchyard");
  const unknown = client.chat.completions.create({ model: "nobody", messages: user("hello") });
  await assert.rejects(unknown, (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    return error.code === "model_not_found" && error.param === "model";
  });
  await assert.rejects(clientOf("yk_wrong").models.list(), OpenAI.AuthenticationError);
  const viewer = clientOf(await world.keyOf("viewer", ["viewer"]));
  const refused = viewer.chat.completions.create({ model: "helper", messages: user("hello") });
  await assert.rejects(refused, OpenAI.PermissionDeniedError);
  const picture = [{ type: "image_url" as const, image_url: { url: "https://example.com/a.png" } }];
  const odd = client.chat.completions.create({
    model: "helper",
    messages: [{ role: "user", content: picture }],
  });
  await assert.rejects(odd, OpenAI.BadRequestError);
});

test("a chat completion is a run's answer, at once and as a stream with its tools and usage", async () => {
  const chat = await client.chat.completions.create({ model: "helper", messages: user("hello") });
  assert.match(chat.choices[0]?.message.content ?? "", ANSWER);
  assert.equal(chat.choices[0]?.finish_reason, "stop");
  assert.ok((chat.usage?.total_tokens ?? -1) >= 0);
  let thoughts = "";
  const stream = client.chat.completions.stream({
    model: "helper",
    messages: user("hello"),
    stream_options: { include_usage: true },
  });
  stream.on("chunk", ({ choices: [choice] }) => {
    const delta: object = choice?.delta ?? {};
    if ("reasoning_content" in delta) thoughts += String(delta.reasoning_content);
  });
  const whole = await stream.finalChatCompletion();
  const text = whole.choices[0]?.message.content ?? "";
  assert.match(text, /^I ask the tool\.\n\nYou said hello\. The tool said:/);
  assert.match(thoughts, /mcp__suite__test_simple_text/);
  assert.ok(whole.usage);
});

test("messages of one conversation share a session; without one the whole history is the input", async () => {
  const metadata = { session: "support-42" };
  for (const said of ["one", "two"])
    await client.chat.completions.create({ model: "helper", messages: user(said), metadata });
  const { sessions } = (await world.send("/sessions")) as { sessions: { key: string }[] };
  assert.equal(sessions.filter(({ key }) => key.startsWith("openai:")).length, 1);
  const messages = [
    ...user("one"),
    { role: "assistant" as const, content: "yes" },
    ...user("hello"),
  ];
  const chat = await client.chat.completions.create({ model: "helper", messages });
  assert.match(chat.choices[0]?.message.content ?? "", /user: one\n\nassistant: yes/);
});

test("a client's instructions are kept with and without a session, and what Open WebUI sends under the id of a chat is in no session", async () => {
  const system = { role: "system" as const, content: "Be kind." };
  const answerTo = async (messages: object[], options: { session?: string; chat?: string }) => {
    const { session, chat } = options;
    const body = { model: "helper", messages, ...(session && { metadata: { session } }) };
    const response = await fetch(`${world.url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${world.token}`,
        "content-type": "application/json",
        ...(chat && { "x-openwebui-chat-id": chat }),
      },
      body: JSON.stringify(body),
    });
    const { choices } = (await response.json()) as OpenAI.ChatCompletion;
    return choices[0]?.message.content ?? "";
  };
  const keys = async () => {
    const { sessions } = (await world.send("/sessions")) as { sessions: { key: string }[] };
    return new Set(sessions.map(({ key }) => key));
  };
  const before = await keys();
  const answer = { role: "assistant", content: "yes" };
  const talk = [system, ...user("one"), answer, ...user("two")];
  // A message, the same once more, an edited one, and a title.
  for (const messages of [talk, talk, talk.toSpliced(-1, 1, ...user("2")), user("A title?")]) {
    const said = await answerTo(messages, { chat: "chat-1" });
    if (messages.length > 1) assert.match(said, /Be kind\.[\s\S]*user: one/);
  }
  assert.deepEqual(await keys(), before);
  const said = await answerTo(talk, { session: "with-instructions" });
  assert.match(said, /Be kind\.[\s\S]*two/);
  assert.doesNotMatch(said, /user: one/);
});

test("a stream that ends in a question ends as every other one", async () => {
  const response = await fetch(`${world.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${world.token}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "curious", messages: user("x"), stream: true }),
  });
  const text = await response.text();
  assert.match(text, /Which colour\?/);
  assert.match(text, /"finish_reason":"stop"[^\n]*\n\ndata: \[DONE\]\n\n$/);
});

test("options are honoured and on record, or refused by their names", async () => {
  const about = { model: "helper", messages: user("hello"), user: "user-1" };
  await client.chat.completions.create({
    ...about,
    temperature: 0.2,
    metadata: { topic: "options" },
    reasoning_effort: "low",
  });
  const listed = (await world.send("/runs?agent=helper&limit=1")) as {
    runs: { runId: string; labels: Record<string, string> }[];
  };
  const { runs } = listed;
  const labels = { topic: "options", "openai-user": "user-1", via: "openai" };
  assert.deepEqual(runs[0]?.labels, labels);
  const { run } = (await world.send(`/runs/${runs[0]?.runId}`)) as { run: { thinking?: string } };
  assert.equal(run.thinking, "low");
  for (const [option, param] of [
    [{ n: 2 }, "n"],
    [{ store: true }, "store"],
    [{ stream_options: { include_obfuscation: true } }, "stream_options.include_obfuscation"],
  ] as const)
    await assert.rejects(
      client.chat.completions.create({ ...about, ...option }),
      (error) => error instanceof OpenAI.BadRequestError && error.param === param,
    );
  const response = await client.responses.create({
    model: "helper",
    input: "hello",
    metadata: { topic: "kept" },
  });
  const shown = await client.responses.retrieve(response.id);
  assert.equal(shown.metadata?.["topic"], "kept");

  const unstored = await client.responses.create({ model: "helper", input: "hello", store: false });
  assert.match(unstored.output_text, /You said hello\./);
  for (const later of [
    client.responses.retrieve(unstored.id),
    client.responses.create({ model: "helper", input: "x", previous_response_id: unstored.id }),
  ])
    await assert.rejects(later, (error) => error instanceof OpenAI.NotFoundError);
  const [newest] = ((await world.send("/runs?agent=helper&limit=1")) as typeof listed).runs;
  assert.deepEqual(newest?.labels, { "openai-store": "false", via: "openai" });
});

test("who closes a chat completion cancels its run", async () => {
  const controller = new AbortController();
  const stream = await client.chat.completions.create(
    { model: "patient", messages: user("hello"), stream: true },
    { signal: controller.signal },
  );
  await until(async () => (await statusOf("patient")) === "running");
  controller.abort();
  for await (const chunk of stream) void chunk;
  await until(async () => (await statusOf("patient")) === "cancelled");
  const closing = new AbortController();
  const plain = client.chat.completions
    .create({ model: "patient", messages: user("again") }, { signal: closing.signal })
    .catch((error: unknown) => error);
  await until(async () => (await statusOf("patient")) === "running");
  closing.abort();
  await plain;
  await until(async () => (await statusOf("patient")) === "cancelled");
  // A client that leaves is no fault of the gateway.
  assert.deepEqual(
    world.dev.log.filter(({ msg }) => msg === "request fault"),
    [],
  );
});

test("a chat completion whose run waits for an approval explains how to decide, and its stream then continues", async () => {
  const parked = await client.chat.completions.create({ model: "careful", messages: user("a") });
  assert.match(parked.choices[0]?.message.content ?? "", /waits until .* for an approval of/);
  const stream = client.chat.completions.stream({ model: "careful", messages: user("b") });
  let text = "";
  stream.on("content", (delta) => {
    text += delta;
    const [, id] = /(apr-[0-9a-f]{32})[\s\S]*\n\n$/.exec(text) ?? [];
    if (id !== undefined && !text.includes("Done")) void world.send(`/approvals/${id}/approve`, {});
  });
  await stream.done();
  assert.match(text, /Done: guarded \{"what":"b"\}/);
});

test("a response has its tool calls as items, and the next one is of the same session", async () => {
  const first = await client.responses.create({ model: "helper", input: "hello" });
  assert.match(first.output_text, /You said hello/);
  assert.deepEqual(
    first.output.map(({ type }) => type),
    ["message", "mcp_call", "message"],
  );
  const stream = client.responses.stream({
    model: "helper",
    input: "and then",
    previous_response_id: first.id,
  });
  const kinds = new Set<string>();
  let last = -1;
  for await (const event of stream) {
    kinds.add(event.type);
    assert.ok(event.sequence_number > last);
    last = event.sequence_number;
  }
  for (const kind of ["response.created", "response.mcp_call.completed", "response.completed"])
    assert.ok(kinds.has(kind), kind);
  const second = await stream.finalResponse();
  assert.equal(second.status, "completed");
  const keys = await Promise.all(
    [first, second].map(async ({ metadata }) => {
      const { run } = (await world.send(`/runs/${metadata?.["run_id"] ?? ""}`)) as {
        run: { session: { key: string } };
      };
      return run.session.key;
    }),
  );
  assert.equal(keys[0], keys[1]);
});

test("an approval is an item that the next request answers, and a question is text that the next input answers", async () => {
  const asked = await client.responses.create({ model: "careful", input: "paint" });
  const request = asked.output.find(({ type }) => type === "mcp_approval_request");
  assert.ok(request?.type === "mcp_approval_request");
  assert.equal(request.server_label, "suite");
  const done = await client.responses.create({
    model: "careful",
    previous_response_id: asked.id,
    input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve: true }],
  });
  assert.match(done.output_text, /Done: guarded \{"what":"paint"\}/);

  const question = await client.responses.create({ model: "curious", input: "x" });
  assert.match(question.output_text, /Which colour\?/);
  const previous = { previous_response_id: question.id };
  const reported = await client.responses.create({ model: "curious", input: "green", ...previous });
  assert.match(reported.output_text, /The colour is .*green/);
});

test("a response in the background is fetched, followed again behind a number, and cancelled", async () => {
  const begun = await client.responses.create({ model: "helper", input: "x", background: true });
  assert.equal(begun.status, "queued");
  const seen = new Set<string | undefined>();
  await until(async () => {
    const now = await client.responses.retrieve(begun.id);
    seen.add(now.status);
    return now.status === "completed" && now.output_text.includes("You said x");
  });
  for (const status of seen)
    assert.ok(["queued", "in_progress", "completed"].includes(status ?? ""), status);
  const again = await client.responses.retrieve(begun.id, { stream: true, starting_after: 3_000 });
  const numbers: number[] = [];
  for await (const event of again) numbers.push(event.sequence_number);
  assert.ok(numbers.length > 2 && numbers.every((number) => number > 3_000), numbers.join());

  const long = await client.responses.create({ model: "patient", input: "x", background: true });
  await until(async () => (await statusOf("patient")) === "running");
  const reported: { type: string; status?: string | undefined }[] = [];
  const following = (async () => {
    for await (const event of await client.responses.retrieve(long.id, { stream: true }))
      reported.push({
        type: event.type,
        ...("response" in event && { status: event.response.status }),
      });
  })();
  await until(() => reported.length > 0);
  assert.equal((await client.responses.cancel(long.id)).status, "cancelled");
  await until(async () => (await client.responses.retrieve(long.id)).status === "cancelled");
  assert.equal((await client.responses.retrieve(long.id)).error, null);
  await following;
  // The protocol has no event of its own for it.
  assert.deepEqual(reported.at(-1), { type: "response.failed", status: "cancelled" });
});

test("a response whose run no runner has taken is queued, can be cancelled, and is so when one takes it", async () => {
  const model = "helper";
  const stream = await client.responses.create({
    model,
    input: "x",
    background: true,
    stream: true,
  });
  const types: string[] = [];
  for await (const { type } of stream) types.push(type);
  assert.deepEqual(types.slice(0, 3), [
    "response.created",
    "response.queued",
    "response.in_progress",
  ]);
  assert.equal(types.at(-1), "response.completed");

  const now = Math.floor(Date.now() / 1_000);
  const waiting = `resp_${randomUUID()}_q${now}_${model}`;
  const shown = await client.responses.retrieve(waiting);
  assert.deepEqual([shown.id, shown.status, shown.model], [waiting, "queued", model]);
  assert.equal((await client.responses.cancel(waiting)).status, "cancelled");
  const refused = await client.responses.create({
    model: "unplugged",
    input: "x",
    background: true,
  });
  const failed = await until(
    () => client.responses.retrieve(refused.id),
    ({ status }) => status !== "queued",
  );
  assert.equal(failed.status, "failed");
  assert.match(failed.error?.message ?? "", /nowhere\/m is of no configured provider/);
  for (const id of [`resp_${randomUUID()}`, `resp_${randomUUID()}_q${now - 90_000}_${model}`])
    await assert.rejects(client.responses.retrieve(id), { status: 404 });
});

test("a JSON object is an answer, and a schema that cannot be checked is refused with its parameter", async () => {
  const object = { type: "json_object" as const };
  const messages = user("hello");
  const chat = await client.chat.completions.create({
    model: "solver",
    messages,
    response_format: object,
  });
  assert.equal(JSON.parse(chat.choices[0]?.message.content ?? "").final_answer, "42");
  const response = await client.responses.create({
    model: "solver",
    input: "hello",
    text: { format: object },
  });
  assert.equal(JSON.parse(response.output_text).final_answer, "42");
  const schema = { properties: { a: { type: "string", pattern: "^(?=a)" } } };
  const format = { name: "x", schema };
  const refusals = [
    client.chat.completions.create({
      model: "solver",
      messages,
      response_format: { type: "json_schema", json_schema: format },
    }),
    client.responses.create({
      model: "solver",
      input: "x",
      background: true,
      text: { format: { type: "json_schema", ...format } },
    }),
  ];
  for (const [index, refused] of refusals.entries())
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.match(error.message, /\/properties\/a\/pattern/);
      const param = ["response_format.json_schema.schema", "text.format.schema"][index];
      return error.param === param;
    });
});

test("every example of the protocols in docs/http.md for a shell works as it is written", async () => {
  const directory = await mkdtemp(join(tmpdir(), "yard-protocols-docs-"));
  after(() => rm(directory, { recursive: true, force: true }));
  const document = await readFile(new URL("../../docs/http.md", import.meta.url), "utf8");
  const env = {
    ...process.env,
    PATH: pathWithCurl(directory),
    YARD_HTTP: world.url,
    YARD_HTTP_TOKEN: world.token,
  };
  const [, protocols = ""] = document.split("\n## Protocols\n");
  const examples = [...protocols.matchAll(/```sh\n(.*?)```/gs)].map(([, text = ""]) => text);
  assert.ok(examples.length > 0);
  for (const example of examples) {
    const { stdout } = await promisify(execFile)("sh", ["-ec", example], { env, timeout: 60_000 });
    assert.match(stdout, /"(result|object|choices|type|jsonrpc|name)"/, example);
  }
});

test("POST /tools/invoke calls one tool by its name, and says of what is denied that it is not available", async () => {
  const invoke = async (body: unknown, method = "POST", key = world.token) => {
    const response = await fetch(`${world.url}/tools/invoke`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(method === "POST" && { body: JSON.stringify(body) }),
    });
    const json = (await response.json()) as {
      ok?: boolean;
      result?: unknown;
      error?: { type: string; message: string; approvalId?: string };
    };
    return { status: response.status, ...json };
  };
  const done = await invoke({ tool: "mcp__suite__test_simple_text" });
  assert.deepEqual([done.status, done.ok], [200, true]);
  assert.match(JSON.stringify(done.result), /simple text response/);
  assert.equal((await invoke(null, "GET")).status, 405);
  assert.equal((await invoke({}, "POST", "yk_wrong")).status, 401);
  const empty = await invoke({});
  assert.deepEqual([empty.status, empty.error?.message], [400, "tools.invoke requires body.tool"]);
  const unknown = await invoke({ tool: "mcp__suite__nothing" });
  assert.deepEqual(
    [unknown.status, unknown.error?.message],
    [404, "Tool not available: mcp__suite__nothing"],
  );
  assert.equal((await invoke({ tool: "execute_command", args: {} })).status, 404);
  const bad = await invoke({ tool: "mcp__suite__test_error_handling" });
  assert.deepEqual([bad.status, bad.error?.type], [400, "tool_error"]);
  const guarded = { tool: "suite.guarded", args: { what: "door" } };
  const dry = await invoke({ ...guarded, dryRun: true });
  assert.deepEqual([dry.status, dry.ok], [200, true]);
  const parked = await invoke(guarded);
  const approvalId = parked.error?.approvalId ?? assert.fail(JSON.stringify(parked));
  await world.send(`/approvals/${approvalId}/approve`, {});
  assert.match(JSON.stringify(await invoke({ ...guarded, approvalId })), /door/);
});

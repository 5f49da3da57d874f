import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { after, test } from "node:test";
import { Role } from "@a2a-js/sdk";
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from "@a2a-js/sdk/client";
import {
  client as acpClient,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type NewSessionResponse,
} from "@agentclientprotocol/sdk";
import { HttpAgent } from "@ag-ui/client";
import { until } from "@switchyard/local-servers/until";
import OpenAI from "openai";
import { yard, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { startTelegramServer } from "../../services/channels/test-fixtures/telegram-server.ts";
import { reported, startDigestModel } from "../lib/digest-model.ts";
import { samplePdf, samplePng, sampleWav } from "../lib/sample-files.ts";
import { startYardDev } from "../lib/yard-dev.ts";

const directory = await mkdtemp(join(tmpdir(), "switchyard-files-"));
const project = join(directory, "project");
const stateDir = join(directory, "state");
const { baseURL } = await startDigestModel();
await cp("test/e2e/protocols-project", project, { recursive: true });
await mkdir(join(directory, "work"));
const local = { type: "openai-compatible", baseURL };
await writeFile(join(project, "models.json"), JSON.stringify({ providers: { local } }));
for (const model of ["eyes", "blind"])
  await writeFile(
    join(project, "agents", `${model}.md`),
    `---\nname: ${model}\ndescription: Looks.\nmodel: local/${model}\ntools: [mcp__suite__test_image_content]\n---\nLook.\n`,
  );
const telegram = await startTelegramServer();
const { token: botToken, apiRoot } = telegram;
const eyes = { caller: "me", agent: "eyes", direct: { policy: "open" } };
const account = { ...eyes, config: { token: botToken, apiRoot } };
await writeFile(
  join(project, "channels.json"),
  JSON.stringify({ accounts: { telegram: { main: account } } }),
);
const dev = await startYardDev({ project, stateDir, workspace: join(directory, "work") });
after(async () => {
  await dev.stop();
  await telegram.close();
  await rm(directory, { recursive: true, force: true });
});
const token = (await readFile(dev.httpTokenFile, "utf8")).trim();
const api = `${dev.httpUrl}/api/v1`;
const authorization = `Bearer ${token}`;
const base64 = (bytes: Buffer) => bytes.toString("base64");
const dataUrl = (type: string, bytes: Buffer) => `data:${type};base64,${base64(bytes)}`;

const ALL = [
  reported("image/png", samplePng),
  reported("application/pdf", samplePdf),
  reported("audio/wav", sampleWav),
].join(" ");

const openai = new OpenAI({ baseURL: `${dev.httpUrl}/v1`, apiKey: token });

async function put(name: string, type: string, bytes: Uint8Array, mediaType = type) {
  const query = new URLSearchParams({ name, mediaType }).toString();
  const response = await fetch(`${api}/files?${query}`, {
    method: "POST",
    headers: { authorization, "content-type": "application/octet-stream" },
    body: new Uint8Array(bytes),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function answerOf(input: unknown, agent = "eyes") {
  const headers = { authorization, "content-type": "application/json" };
  const start = { agent, input };
  const started = await fetch(`${api}/runs`, {
    method: "POST",
    headers,
    body: JSON.stringify(start),
  });
  const { runId } = (await started.json()) as { runId: string };
  return until(
    async () =>
      ((await (await fetch(`${api}/runs/${runId}`, { headers })).json()) as { run: Run }).run,
    ({ status }) => ["succeeded", "failed", "rejected"].includes(status),
  );
}

interface Run {
  readonly status: string;
  readonly output: string | null;
  readonly input: unknown;
  readonly failure: { readonly code: string } | null;
}

test("files that are stored over REST are parts of an input, of the type that their bytes show", async () => {
  const stored = [
    await put("dot.png", "image/png", samplePng, "application/octet-stream"),
    await put("page.pdf", "application/pdf", samplePdf, "image/jpeg"),
    await put("silence.wav", "audio/wav", sampleWav),
    await put("notes.md", "text/markdown", Buffer.from("the word is plugh")),
  ];
  assert.deepEqual(
    stored.map(({ status, body }) => [status, (body["file"] as { mediaType: string }).mediaType]),
    [
      [201, "image/png"],
      [201, "application/pdf"],
      [201, "audio/wav"],
      [201, "text/markdown"],
    ],
  );
  const files = stored.map(({ body }) => body["file"]);
  const run = await answerOf([{ type: "text", text: "look" }, ...files]);
  assert.equal(run.status, "succeeded");
  assert.ok(run.output?.includes(ALL), run.output ?? "");
  assert.match(run.output ?? "", /the word is plugh/);
  assert.deepEqual(run.input, [{ type: "text", text: "look" }, ...files], "no bytes");
});

test("a file is refused for its bytes, and a part for facts that are not those of the caller's file", async () => {
  const zip = await put("a.zip", "application/zip", Buffer.from("PK\x03\x04rest"));
  assert.deepEqual([zip.status, zip.body["code"]], [415, "unsupported_file"]);
  const page = await put("a.png", "image/png", Buffer.from("<html>not found</html>"));
  assert.deepEqual([page.status, page.body["code"]], [415, "unsupported_file"]);
  const bomb = Buffer.from(samplePng);
  bomb.writeUInt32BE(60_000, 16);
  bomb.writeUInt32BE(60_000, 20);
  const large = await put("bomb.png", "image/png", bomb);
  assert.deepEqual([large.status, large.body["code"]], [415, "unsupported_file"]);
  const { body } = await put("dot.png", "image/png", samplePng);
  const file = body["file"] as Record<string, unknown>;
  for (const other of [{ mediaType: "application/pdf" }, { ref: `file-${"0".repeat(32)}` }]) {
    const run = await answerOf([{ ...file, ...other }]);
    assert.deepEqual([run.status, run.failure?.code], ["rejected", "unknown_file"]);
  }
});

test("OpenAI's client sends an image, a PDF and a sound to chat completions, and to responses what it has a form for", async () => {
  const { body } = await put("page.pdf", "application/pdf", samplePdf);
  const { ref } = body["file"] as { ref: string };
  const chat = await openai.chat.completions.create({
    model: "eyes",
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: dataUrl("image/png", samplePng) } },
          { type: "file", file: { file_id: ref } },
          { type: "input_audio", input_audio: { data: base64(sampleWav), format: "wav" } },
        ],
      },
    ],
  });
  assert.ok(chat.choices[0]?.message.content?.includes(ALL));
  const response = await openai.responses.create({
    model: "eyes",
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "look" },
          { type: "input_image", detail: "auto", image_url: dataUrl("image/png", samplePng) },
          {
            type: "input_file",
            filename: "page.pdf",
            file_data: dataUrl("application/pdf", samplePdf),
          },
        ],
      },
    ],
  });
  const seen = ALL.split(" ").slice(0, 2).join(" ");
  assert.ok(response.output_text.includes(seen), response.output_text);
  const next = await openai.responses.create({
    model: "eyes",
    previous_response_id: response.id,
    input: "and again",
  });
  assert.ok(next.output_text.includes(seen), "what was sent before is part of the conversation");
});

test("an answer that its provider ended has its reason in chat completions and responses, at once and as a stream", async () => {
  for (const [finish, reason] of [
    ["length", "max_output_tokens"],
    ["content_filter", "content_filter"],
  ] as const) {
    const said = `finish with ${finish}`;
    const messages = [{ role: "user" as const, content: said }];
    const chat = await openai.chat.completions.create({ model: "eyes", messages });
    assert.equal(chat.choices[0]?.finish_reason, finish);
    assert.match(chat.choices[0].message.content ?? "", /\w/, "what came before is there");
    const streamed = openai.chat.completions.stream({ model: "eyes", messages });
    const [choice] = (await streamed.finalChatCompletion()).choices;
    assert.equal(choice?.finish_reason, finish);
    const response = await openai.responses.create({ model: "eyes", input: said });
    const { status, incomplete_details: details, error } = response;
    assert.deepEqual([status, details, error], ["incomplete", { reason }, null]);
    const shown = await openai.responses.retrieve(response.id);
    assert.deepEqual([shown.status, shown.incomplete_details], ["incomplete", { reason }]);
    const events = openai.responses.stream({ model: "eyes", input: said });
    assert.equal((await events.finalResponse()).status, "incomplete");
  }
});

test("A2A's client sends raw parts", async () => {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", authorization);
    return fetch(input, { ...init, headers });
  };
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }),
  );
  const a2a = await factory.createFromUrl(`${dev.httpUrl}/a2a/eyes/`);
  const raw = (filename: string, mediaType: string, value: Buffer) => ({
    content: { $case: "raw" as const, value },
    metadata: undefined,
    filename,
    mediaType,
  });
  const answer = await a2a.sendMessage({
    tenant: "",
    message: {
      messageId: randomUUID(),
      contextId: "",
      taskId: "",
      role: Role.ROLE_USER,
      parts: [
        raw("dot.png", "image/png", samplePng),
        raw("page.pdf", "application/pdf", samplePdf),
        raw("silence.wav", "audio/wav", sampleWav),
      ],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: undefined,
    metadata: undefined,
  });
  assert.ok(JSON.stringify(answer).includes(ALL), JSON.stringify(answer));
});

test("AG-UI's client sends image, document and audio parts", async () => {
  const agent = new HttpAgent({
    url: `${dev.httpUrl}/ag-ui/eyes`,
    headers: { authorization },
    threadId: randomUUID(),
  });
  const data = (mimeType: string, bytes: Buffer) =>
    ({ type: "data", mimeType, value: base64(bytes) }) as const;
  agent.addMessage({
    id: randomUUID(),
    role: "user",
    content: [
      { type: "image", source: data("image/png", samplePng) },
      { type: "document", source: data("application/pdf", samplePdf) },
      { type: "audio", source: data("audio/wav", sampleWav) },
    ],
  });
  await agent.runAgent();
  const { content } = agent.messages.at(-1) ?? {};
  assert.ok(typeof content === "string" && content.includes(ALL));
});

test("an album of a chat reaches the model with its files, and a file that is lost is named", async () => {
  const files = { "dot.png": samplePng, "page.pdf": samplePdf, "silence.wav": sampleWav };
  for (const [name, bytes] of Object.entries(files)) telegram.files.set(name, bytes);
  for (const name of [...Object.keys(files), "lost.pdf"])
    telegram.push({
      message: telegram.message({
        text: undefined,
        media_group_id: "7",
        document: { file_id: name, file_name: name },
      }),
    });
  const sent = await until(() => telegram.calls.find(({ method }) => method === "sendMessage"));
  const { text } = sent.fields;
  assert.ok(String(text).includes(ALL), String(text));
  assert.match(
    String(text),
    /\[the file lost\.pdf could not be loaded: Telegram: .* wrong file_id/,
  );
});

test("an editor sends images, sounds and binary resources over ACP", async () => {
  const main = join(import.meta.dirname, "../../apps/cli/src/main.ts");
  const child = spawn(process.execPath, [main, "acp", "--agent", "eyes"], {
    env: yardEnvironment(stateDir),
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let said = "";
  const { agent } = acpClient({ name: "test-editor" })
    .onNotification(methods.client.session.update, ({ params: { update } }) => {
      if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text")
        said += update.content.text;
    })
    .connect(
      ndJsonStream(
        Writable.toWeb(child.stdin),
        Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
      ),
    );
  const { agentCapabilities } = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  assert.deepEqual(agentCapabilities?.promptCapabilities, {
    embeddedContext: true,
    image: true,
    audio: true,
  });
  const { sessionId } = await agent.request<NewSessionResponse>(methods.agent.session.new, {
    cwd: project,
    mcpServers: [],
  });
  const blob = { uri: "file:///work/page.pdf", mimeType: "application/pdf" };
  await agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [
      { type: "image", mimeType: "image/png", data: base64(samplePng) },
      { type: "resource", resource: { ...blob, blob: base64(samplePdf) } },
      { type: "audio", mimeType: "audio/wav", data: base64(sampleWav) },
    ],
  });
  assert.ok(said.includes(ALL), said);
  const refused = agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: "image", mimeType: "image/png", data: base64(Buffer.from("no image")) }],
  });
  await assert.rejects(refused, /its bytes are not those of image\/png/);
  child.stdin.end();
  await exited;
});

test("yard run sends files, the image of a tool's result reaches the model, and a model without eyes gets a text", async () => {
  const path = join(directory, "dot.png");
  await writeFile(path, samplePng);
  const env = yardEnvironment(stateDir);
  const [seen, blind] = await Promise.all([
    yard(["run", "eyes", "call mcp__suite__test_image_content", "--file", path], env),
    yard(["run", "blind", "look", "--file", path], env),
  ]);
  assert.equal(seen.code, 0, seen.stderr);
  const images = seen.stdout.match(/image\/png=[0-9a-f]{64}/g) ?? [];
  assert.equal(images[0], reported("image/png", samplePng));
  assert.equal(images.length, 2, seen.stdout);
  assert.match(blind.stdout, /\[file dot\.png, image\/png, 70 bytes\]: this model does not accept/);
});

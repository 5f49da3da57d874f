import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { generate } from "selfsigned";
import { sessionWorld, startProgram } from "../../test-fixtures/session-world.ts";
import { legacyAnswer, switchableServer } from "../../test-fixtures/switchable-server.ts";
import { fixture } from "../../test-fixtures/test-broker.ts";
import { readProcessStats } from "@switchyard/service/process/process-stat";
import { until } from "@switchyard/local-servers/until";
import { ConnectError } from "./mcp-session.ts";

const world = await sessionWorld();

/** A stdio server that behaves according to its mode. */
function hostile(mode: string, more: object = {}) {
  return {
    id: mode,
    command: process.execPath,
    args: [fixture("hostile-server.ts"), mode],
    connectTimeoutMs: 5_000,
    ...more,
  };
}

/** Returns the reason why a connection could not be made, after everything of it is gone. */
async function failureOf(opening: Promise<unknown>): Promise<string> {
  try {
    await opening;
  } catch (error) {
    assert.ok(error instanceof ConnectError);
    await error.closed;
    return error.message;
  }
  throw new Error("it was connected");
}

for (const status of [401, 403, 500])
  test(`HTTP ${status} is named and leaves nothing open`, async () => {
    const server = await switchableServer((_, response) => response.writeHead(status).end("no"));
    const message = await failureOf(
      world.open({ id: `http-${status}`, url: server.url, oauth: false }),
    );
    assert.match(message, new RegExp(`HTTP ${status}`));
  });

test("an address that is not an MCP server, by Streamable HTTP or by SSE, is reported with both answers [A5, C3]", async () => {
  const server = await switchableServer((_, response) => response.writeHead(404).end());
  const message = await failureOf(world.open({ id: "elsewhere", url: server.url }));
  assert.match(message, /^the server answered HTTP 404; then .*404/);
});

test("a redirect to a private address is not followed, and nothing reaches it", async () => {
  const reached: string[] = [];
  const inside = await switchableServer((request, response) => {
    reached.push(request.url ?? "");
    response.end();
  });
  for (const location of ["http://169.254.169.254/latest/meta-data", inside.url]) {
    const outside = await switchableServer((_, response) =>
      response.writeHead(307, { location }).end(),
    );
    const message = await failureOf(
      world.open({ id: "redirected", url: outside.url }, { privateHosts: "127.0.0.1" }),
    );
    assert.match(message, /Redirect to .* not followed|not a public address/);
  }
  assert.deepEqual(reached, []);
});

test("an address and a name that are not public are refused before anything is sent, unless permitted", async () => {
  const server = await switchableServer(() => undefined);
  server.answer = legacyAnswer(server.asked);
  for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"]) {
    const url = `http://${host}:${server.port}/mcp`;
    const message = await failureOf(world.open({ id: "inside", url }, { privateHosts: "" }));
    assert.match(message, /is not a public address; permit it in YARD_MCP_ALLOW_PRIVATE_HOSTS/);
  }
  assert.deepEqual(server.asked, []);
  const session = await world.open({ id: "inside", url: server.url });
  assert.equal(session.tools.length, 1);
});

test("a TLS failure, by an untrusted certificate, ends the connection before a header is sent", async () => {
  const { private: key, cert } = await generate([{ name: "commonName", value: "127.0.0.1" }]);
  const server = await switchableServer(() => undefined, { key, cert });
  server.answer = legacyAnswer(server.asked);
  const headers = { Authorization: "Bearer canary-tls" };
  const message = await failureOf(world.open({ id: "tls", url: server.url, headers }));
  assert.match(message, /certificate/i);
  assert.ok(!message.includes("canary-tls"));
  assert.deepEqual(server.asked, []);
});

test("a header that cannot be sent is named, without its value, and nothing is sent", async () => {
  const server = await switchableServer(() => undefined);
  server.answer = legacyAnswer(server.asked);
  for (const value of ["canary\nheader", "canary-header \u2713"])
    for (const declared of ["${TOKEN}", value]) {
      const headers = { Authorization: declared };
      const opening = world.open(
        { id: "sent", url: server.url, headers },
        { env: { TOKEN: value } },
      );
      const message = await failureOf(opening);
      assert.match(message, /"headers\.Authorization" has a line break, or a character/);
      assert.doesNotMatch(message, /canary/);
    }
  assert.deepEqual(server.asked, []);
  const session = await world.open({ id: "ended", url: server.url, headers: { "X-Key": "key\n" } });
  assert.equal(session.tools.length, 1);
});

test("an SSE connection that is cut in the middle ends the connection and the call in it", async () => {
  const server = await startProgram([fixture("v1-server.ts"), "sse"]);
  const session = await world.open({ id: "cut", transport: "sse", url: server.url("/sse") });
  await server.kill();
  assert.match(await session.lost, /event stream ended|does not answer/);
  await assert.rejects(
    session.callTool({
      tool: "echo",
      args: { message: "hi" },
      timeoutMs: 5_000,
      signal: new AbortController().signal,
    }),
  );
});

test("after an error the broker pings an HTTP server, which stays connected when it answers [A24]", async () => {
  const server = await switchableServer(() => undefined);
  server.answer = legacyAnswer(server.asked);
  const session = await world.open({ id: "asked", url: server.url });
  const order = ["initialize", "notifications/initialized", "tools/list"];
  assert.deepEqual(
    server.asked.filter((method) => order.includes(method)),
    order,
  );
  server.answer = async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method } = JSON.parse(await text(request)) as { id?: number; method: string };
    server.asked.push(method);
    if (id === undefined) return response.writeHead(202).end();
    if (method === "tools/call") return response.writeHead(500).end();
    const result = method === "ping" ? {} : { tools: [] };
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  };
  await assert.rejects(
    session.callTool({
      tool: "echo",
      args: {},
      timeoutMs: 30_000,
      signal: new AbortController().signal,
    }),
  );
  await until(
    () => server.asked,
    (asked) => asked.includes("ping"),
  );
  assert.deepEqual(
    server.asked.filter((method) => [...order, "tools/call", "ping"].includes(method)),
    [...order, "tools/call", "ping"],
  );
  const before = server.asked.length;
  await session.refreshTools();
  assert.ok(server.asked.slice(before).includes("tools/list"));
  await session.close();
});

test("half a line, wrong ids, chatter and nothing at all end in connectTimeoutMs, with the process, and the error names what is missing", async () => {
  for (const mode of ["half", "wrong-ids", "silent"]) {
    const message = await failureOf(world.open(hostile(mode)));
    assert.match(
      message,
      /^no answer within connectTimeoutMs \(5000 ms\) to the handshake; if it needs longer: yard mcp update/,
    );
  }
  const said = await failureOf(world.open(hostile("chats")));
  assert.match(said, /; stderr: waits for a login; stdout: welcome\nplease log in$/);
  const message = await failureOf(world.open(hostile("hangs-in-list")));
  assert.match(message, /^no answer within connectTimeoutMs \(5000 ms\) to tools\/list;/);
  await until(
    () => childrenOf(fixture("hostile-server.ts")),
    ({ length }) => length === 0,
  );
});

test("garbage around the protocol is ignored", async () => {
  const session = await world.open(hostile("garbage", { connectTimeoutMs: 15_000 }));
  assert.ok(session.tools.length > 0);
  await session.close();
});

test("200 connects and disconnects leave no process, no fd and no memory growth", async () => {
  const server = await switchableServer(() => undefined);
  server.answer = legacyAnswer(server.asked);
  const small = { id: "small", command: "sh", args: [fixture("small-server.sh")] };
  const remote = { id: "often", url: server.url };
  const once = async (declaration: { readonly id: string }): Promise<void> => {
    const session = await world.open(declaration, { isClosedByTest: true });
    assert.equal(session.tools.length, 1);
    await session.close();
  };
  // State that is created once and cached, such as compiled code, exists after these.
  for (let n = 0; n < 20; n += 1) for (const each of [remote, small]) await once(each);
  collectGarbage();
  const [before, heapBefore] = [await descriptors(), process.memoryUsage().heapUsed];
  for (let n = 0; n < 100; n += 1) for (const each of [remote, small]) await once(each);
  await until(
    () => childrenOf(fixture("small-server.sh")),
    ({ length }) => length === 0,
  );
  await until(descriptors, (now) => now <= before);
  // State that waits for a timer of the last connections, such as the end of a session, is released a moment later.
  await until(
    () => {
      collectGarbage();
      return process.memoryUsage().heapUsed - heapBefore;
    },
    (grown) => grown < MAX_GROWN,
  );
});

/** The limit for 200 connections together: each of them uses more while it is open. */
const MAX_GROWN = 1024 * 1024;

/** Unreferenced memory does not count as growth. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

async function descriptors(): Promise<number> {
  return (await readdir("/proc/self/fd")).length;
}

/** Living processes with the file in their command line. Another checkout has a file of its own. */
async function childrenOf(file: string): Promise<number[]> {
  const living = (await readProcessStats()).filter(({ isDead }) => !isDead);
  const found = await Promise.all(
    living.map(async ({ pid }) => {
      const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      return line.includes(file) ? pid : null;
    }),
  );
  return found.filter((pid) => pid !== null && pid !== process.pid) as number[];
}

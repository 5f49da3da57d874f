import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { fixture } from "../../test-fixtures/test-broker.ts";
import { isGroupAlive } from "@switchyard/service/process/process-group";
import { until } from "@switchyard/local-servers/until";
import { normalToolResult } from "../normalise/tool-result.ts";
import { SpawnError } from "../process/child-program.ts";
import { anyResult, uncarriedResult } from "./carried-result.ts";
import { StdioTransport, type StdioTransportOptions } from "./stdio-transport.ts";

const GRACE_MS = 300;

function transportOf(
  args: readonly string[],
  more: Partial<StdioTransportOptions> = {},
): StdioTransport {
  return new StdioTransport({
    command: process.execPath,
    args,
    env: { PATH: process.env["PATH"] ?? "" },
    cwd: null,
    graceMs: GRACE_MS,
    ...more,
  });
}

/** A program given as text, which writes test data to stdout. */
const script = (text: string): string[] => ["-e", text];

/** The calls of a transport's handlers, and when it ended. */
function observe(transport: StdioTransport) {
  const messages: JSONRPCMessage[] = [];
  const errors: Error[] = [];
  const closed = Promise.withResolvers<void>();
  Object.assign(transport, {
    onmessage: (message: JSONRPCMessage) => messages.push(message),
    onerror: (error: Error) => errors.push(error),
    onclose: () => closed.resolve(),
  });
  return { messages, errors, closed: closed.promise };
}

test("a child sees the variables that it is given and nothing else [A23, AR8]", async () => {
  const transport = transportOf([fixture("fixture-server.ts")], { env: { DECLARED: "yes" } });
  const client = new Client({ name: "test", version: "0" });
  await client.connect(transport);
  const carried = await client.callTool({ name: "environment", arguments: {} });
  const { result } = normalToolResult(uncarriedResult(carried));
  assert.deepEqual(JSON.parse(String(result.content[0]?.["text"])), { DECLARED: "yes" });
  await client.close();
});

test("arguments reach the program as they are, without a shell", async () => {
  const args = ["; touch /tmp/x", "$(id)", "a  b", "*", ""];
  const show = `console.log(JSON.stringify({jsonrpc: "2.0", method: "args", params: {args: process.argv.slice(1)}}))`;
  const transport = transportOf([...script(show), "--", ...args]);
  const seen = observe(transport);
  await transport.start();
  await seen.closed;
  assert.deepEqual(seen.messages, [{ jsonrpc: "2.0", method: "args", params: { args } }]);
});

test("a missing program and a missing working directory are named", async () => {
  const missing = transportOf([], { command: "no-such-program-anywhere" });
  await assert.rejects(
    missing.start(),
    (error) =>
      error instanceof SpawnError &&
      error.message === "command not found: no-such-program-anywhere",
  );
  await missing.close();
  const nowhere = transportOf([], { cwd: "/no/such/directory" });
  await assert.rejects(nowhere.start(), {
    message: "working directory not found: /no/such/directory",
  });
});

test("reports the end of a child with its exit code and the last of its stderr", async () => {
  const transport = transportOf([fixture("hostile-server.ts"), "exits"]);
  const seen = observe(transport);
  await transport.start();
  await seen.closed;
  assert.equal(transport.endReason, "process exited with code 7");
  assert.equal(transport.stderrTail.text, "configuration is missing\n");
  await assert.rejects(transport.send({ jsonrpc: "2.0", method: "ping" }), {
    code: "NOT_CONNECTED",
  });
});

test("keeps the last 64 KiB of stderr", async () => {
  const transport = transportOf(script(`process.stderr.write("a".repeat(200_000) + "end")`));
  const seen = observe(transport);
  await transport.start();
  await seen.closed;
  assert.equal(transport.stderrTail.text.length, 64 * 1024);
  assert.ok(transport.stderrTail.text.endsWith("aend"));
});

test("reads the answer that a child wrote just before it ended", async () => {
  const transport = transportOf(
    script(`process.stdout.write('{"jsonrpc":"2.0","method":"last"}\\n'); process.exitCode = 1`),
  );
  const seen = observe(transport);
  await transport.start();
  await seen.closed;
  assert.equal(seen.messages.length, 1);
});

test("counts lines on stdout that are not messages and continues", async () => {
  const transport = transportOf([fixture("hostile-server.ts"), "garbage"]);
  const client = new Client({ name: "test", version: "0" });
  await client.connect(transport);
  assert.equal(transport.ignoredLines, 5);
  const page = await client.request({ method: "tools/list" }, anyResult);
  const { tools } = uncarriedResult(page);
  assert.ok(Array.isArray(tools) && tools.length === 2);
  await client.close();
});

test("ends the connection of a child that prints 50 MB without a newline, without taking them into memory", async () => {
  const flood = `process.stdout.on("error", () => {}); const c = "x".repeat(2 ** 20); let n = 0; (function more() { while (n++ < 50) if (!process.stdout.write(c)) return process.stdout.once("drain", more); })()`;
  const transport = transportOf(script(flood));
  const seen = observe(transport);
  const before = process.memoryUsage().arrayBuffers;
  await transport.start();
  await seen.closed;
  const grown = process.memoryUsage().arrayBuffers - before;
  assert.equal(transport.endReason, "a message exceeds the limit of 10485760 bytes");
  assert.ok(grown < 20 * 1024 * 1024, `${grown} bytes of buffers`);
  await transport.close();
});

test("a child that ignores the end of stdin and SIGTERM is killed [A23]", async () => {
  const transport = transportOf([fixture("hostile-server.ts"), "deaf"]);
  const client = new Client({ name: "test", version: "0" });
  await client.connect(transport);
  const { pid } = transport;
  assert.ok(pid !== null);
  assert.equal(await isGroupAlive(pid), true);
  await client.close();
  await transport.close();
  assert.equal(await isGroupAlive(pid), false);
});

test("closing reports the end at once and takes the grandchildren along [A20, A23] [complaint-6]", async () => {
  const gone = Promise.withResolvers<void>();
  const transport = transportOf([fixture("fixture-server.ts")], { onGone: gone.resolve });
  const client = new Client({ name: "test", version: "0" });
  await client.connect(transport);
  await client.callTool({ name: "fork", arguments: {} });
  const { pid } = transport;
  assert.ok(pid !== null);
  const closing = client.close();
  assert.equal(client.transport, undefined);
  await closing;
  await gone.promise;
  assert.equal(await isGroupAlive(pid), false);
});

test("the grandchildren of a child that forks and dies by itself end too [A23]", async () => {
  const transport = transportOf([fixture("fixture-server.ts")]);
  const client = new Client({ name: "test", version: "0" });
  await client.connect(transport);
  await client.callTool({ name: "fork", arguments: {} });
  const { pid } = transport;
  assert.ok(pid !== null);
  const closed = new Promise<void>((resolve) => {
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client is not an EventTarget
    client.onclose = resolve;
  });
  process.kill(pid, "SIGKILL");
  await closed;
  assert.equal(transport.endReason, "process was killed by SIGKILL");
  await until(
    () => isGroupAlive(pid),
    (isAlive) => !isAlive,
  );
});

test("leaves nothing that keeps the process alive", async () => {
  const program = `
    import { StdioTransport } from ${JSON.stringify(new URL("stdio-transport.ts", import.meta.url).href)};
    const transport = new StdioTransport({ command: process.execPath, args: ["-e", "process.stdin.resume()"], env: {}, cwd: null });
    await transport.start();
    await transport.close();
  `;
  const transport = transportOf(["--input-type=module", "-e", program]);
  const seen = observe(transport);
  await transport.start();
  await seen.closed;
  assert.equal(transport.endReason, "process exited with code 0");
  assert.deepEqual(seen.errors, []);
});

test("a child that closes its output, or its input, and lives on is at its end", async () => {
  const quiet = transportOf(script("fs.closeSync(1); setInterval(() => {}, 1000)"));
  const seen = observe(quiet);
  await quiet.start();
  await seen.closed;
  assert.equal(quiet.endReason, "the server closed its output");
  await quiet.close();

  const says = `process.stdout.write('{"jsonrpc":"2.0","method":"ready"}\\n')`;
  const deaf = transportOf(script(`fs.closeSync(0); ${says}; setInterval(() => {}, 1000)`));
  const deafSeen = observe(deaf);
  await deaf.start();
  await until(
    () => deafSeen.messages.length,
    (count) => count > 0,
  );
  await assert.rejects(deaf.send({ jsonrpc: "2.0", method: "ping" }), /write to the server failed/);
  await deafSeen.closed;
  assert.equal(deaf.endReason, "the server closed its input");
  await deaf.close();
});

test("a child that sends requests endlessly and does not read the answers is ended, not kept in memory", async () => {
  const transport = transportOf(script("setInterval(() => {}, 1000)"));
  const seen = observe(transport);
  await transport.start();
  const answer = { jsonrpc: "2.0" as const, id: 1, result: { text: "x".repeat(30_000_000) } };
  const writes = Promise.allSettled([
    transport.send(answer),
    transport.send(answer),
    transport.send(answer),
    transport.send(answer),
  ]);
  await seen.closed;
  assert.equal(transport.endReason, "the server does not read its input");
  await transport.close();
  assert.ok((await writes).some(({ status }) => status === "rejected"));
});

test("a child that floods is read at the rate of the brake, and the rest waits in its pipe", async () => {
  const flood = `
    const line = '{"jsonrpc":"2.0","method":"flood"}\\n'.repeat(1000);
    const more = () => { while (process.stdout.write(line)); };
    process.stdout.on("drain", more); more();`;
  const transport = transportOf(script(flood));
  const seen = observe(transport);
  await transport.start();
  // The burst is read at once; without the rate limit each second brings a hundred times as much.
  await until(
    () => seen.messages.length,
    (count) => count > 2_000,
  );
  const begun = performance.now();
  const before = seen.messages.length;
  const seconds = await until(
    () => (performance.now() - begun) / 1_000,
    (passed) => passed > 1.5,
  );
  // A chunk of the pipe holds up to 1,900 of these lines, and the debt of one is at most a second.
  assert.ok(seen.messages.length - before < 4_000 + 2_000 * seconds);
  await transport.close();
});

test("a child that floods its stderr is read at a rate, too, answers meanwhile and has its last words", async () => {
  const flood = `
    const line = "x".repeat(1023) + "\\n";
    const fs = require("fs");
    let wrote = 0;
    const begun = performance.now();
    while (performance.now() - begun < 1_500) wrote += fs.writeSync(2, line);
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", method: "wrote", params: { wrote } }) + "\\n");
    fs.writeSync(2, "last words");`;
  const transport = transportOf(script(flood));
  const seen = observe(transport);
  await transport.start();
  await seen.closed;
  const [message] = seen.messages;
  assert.ok(message !== undefined && "params" in message);
  // Without the rate limit it writes some hundred megabytes in this time.
  assert.ok(Number(message.params?.["wrote"]) < 8 * 1024 * 1024, JSON.stringify(message));
  assert.ok(transport.stderrTail.text.endsWith("last words"));
});

test("a message that the protocol layer cannot process harms no other message, at every position in a chunk", async () => {
  const note = `{"jsonrpc":"2.0","method":"note"}`;
  const deep = `{"jsonrpc":"2.0","id":99,"result":{"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}}`;
  const transport = transportOf(
    script(`process.stdout.write(\`${[note, deep, note].join("\\n")}\\n\`);
      setInterval(() => {}, 1000)`),
  );
  const received: string[] = [];
  const client = new Client({ name: "test", version: "0" });
  client.fallbackNotificationHandler = ({ method }) => {
    received.push(method);
    return Promise.resolve();
  };
  // It never answers the handshake; its messages are received from the start.
  const connecting = client.connect(transport, { timeout: 60_000 }).catch(() => "closed");
  await until(
    () => received.length,
    (count) => count === 2,
  );
  await client.close();
  assert.equal(await connecting, "closed");
  assert.equal(transport.ignoredLines, 1);
});

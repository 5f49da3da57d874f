import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "@switchyard/local-servers/free-port";
import { yard as yardOf } from "../../test-fixtures/yard-process.ts";
import { yardCommand } from "../../../../test/lib/yard-command.ts";
import { startYardDev, type DevInstance } from "../../../../test/lib/yard-dev.ts";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));
const windows = fileURLToPath(new URL("../../test-fixtures/like-windows.cjs", import.meta.url));
const WAIT_MS = 60_000;

let instance: DevInstance;
let state: string;
let home: string;
let key: string;

before(async () => {
  state = await mkdtemp(join(tmpdir(), "switchyard-http-"));
  home = await mkdtemp(join(tmpdir(), "switchyard-home-"));
  instance = await startYardDev({ project: "examples", stateDir: state });
  const made = await yardCommand(state, "keys", "api", "create", "team-h", "--role", "operator");
  ({ key } = made as { key: string });
});

after(async () => {
  await instance?.stop();
  for (const directory of [state, home]) await rm(directory, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

/** A person elsewhere: no NATS, no state directory of the instance, a home of its own. */
async function yard(
  words: readonly string[],
  { input = "", env = {} }: { input?: string; env?: Record<string, string> } = {},
): Promise<Ended> {
  const { code, stdout, stderr } = await yardOf(words, environment(env), home, input);
  return { code, out: stdout, errors: stderr };
}

function environment(more: Record<string, string>): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    HOME: home,
    YARD_STATE_DIR: join(home, "nothing-runs-here"),
    ...more,
  };
}

/** The same person on Windows. */
async function yardOnWindows(words: readonly string[], input = ""): Promise<Ended> {
  const env = { HOME: "", USERPROFILE: home, YARD_STATE_DIR: "", PATH: "" };
  const child = spawn(process.execPath, ["--require", windows, main, ...words], {
    cwd: home,
    env: environment(env),
    stdio: ["pipe", "pipe", "pipe"],
    timeout: WAIT_MS,
  });
  let [out, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdin.end(input);
  await once(child, "close");
  return { code: child.exitCode, out, errors };
}

async function dataOf(...words: string[]): Promise<unknown> {
  const { code, out, errors } = await yard([...words, "--json"]);
  assert.equal(code, 0, `yard ${words.join(" ")}: ${errors}`);
  return (JSON.parse(out) as { data: unknown }).data;
}

test("signs in with a key that is piped in, keeps it closed to others, and is that caller from then on", async () => {
  const { code, errors } = await yard(["login", instance.httpUrl, "--name", "office"], {
    input: `${key}\n`,
  });
  assert.equal(code, 0, errors);
  assert.match(errors, /as team-h/);
  assert.ok(!errors.includes(key));
  const file = join(home, ".config/switchyard/keys/office.key");
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await readFile(file, "utf8")).trim(), key);
  const config = await readFile(join(home, ".config/switchyard/config.json"), "utf8");
  assert.ok(!config.includes(key));
  const listed = (await dataOf("context", "list")) as { current: string };
  assert.equal(listed.current, "office");
});

test("a run is started, followed with its text, and looked at as over NATS", async () => {
  const { code, out, errors } = await yard(["run", "demo", "What is in this folder?"]);
  assert.equal(code, 0, errors);
  assert.ok(out.trim() !== "");
  assert.match(errors, /queued/);
  assert.match(errors, /list_directory/);
  const { runs } = (await dataOf("runs", "list")) as {
    runs: { runId: string; status: string; requester: string }[];
  };
  const [run] = runs;
  assert.equal(runs.length, 1);
  assert.equal(run?.status, "succeeded");
  const shown = await yard(["runs", "show", "last"]);
  assert.equal(shown.code, 0, shown.errors);
  assert.match(shown.out, /team-h/);
  const tail = await yard(["runs", "tail", run?.runId ?? ""]);
  assert.equal(tail.code, 0, tail.errors);
  assert.equal(tail.out, out);
  const events = await yard(["runs", "events", "last", "--json"]);
  assert.equal(events.code, 0, events.errors);
  const names = events.out
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { subject: string }).subject.split(".").at(-1));
  assert.equal(names[0], "started");
  assert.equal(names.at(-1), "finished");
});

test("a conversation, tools, skills, agents, policy and approvals answer", async () => {
  const said = await yard(["chat", "--agent", "demo", "-m", "What is in this folder?"]);
  assert.equal(said.code, 0, said.errors);
  assert.ok(said.out.trim() !== "");
  const { sessions } = (await dataOf("sessions", "list")) as { sessions: unknown[] };
  assert.equal(sessions.length, 1);
  for (const words of [
    ["mcp", "tools"],
    ["tools", "list"],
    ["skills", "list"],
    ["agents", "list"],
    ["agents", "show", "demo"],
    ["approvals", "list"],
    ["policy", "explain", "files.read_text_file"],
  ])
    assert.equal(typeof (await dataOf(...words)), "object", words.join(" "));
});

test("yard mcp serve asks the gateway, as whom the key is of", async () => {
  const say = (message: object): string => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const child = spawn(process.execPath, [main, "mcp", "serve"], {
    cwd: home,
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      YARD_STATE_DIR: join(home, "none"),
    },
    stdio: ["pipe", "pipe", "inherit"],
    timeout: WAIT_MS,
  });
  child.stdin.write(say({ id: 1, method: "initialize", params }));
  child.stdin.write(say({ method: "notifications/initialized" }));
  const call = { name: "sessions_list", arguments: {} };
  child.stdin.write(say({ id: 2, method: "tools/call", params: call }));
  let answer = "";
  for await (const chunk of child.stdout.setEncoding("utf8") as AsyncIterable<string>) {
    answer += chunk;
    if (/"id":2[,}]/.test(answer)) break;
  }
  const ended = once(child, "exit");
  child.stdin.end();
  await ended;
  // The API key's user; the example rules give this caller no session tools.
  assert.match(answer, /no rule allows sessions_list for user team-h/);
});

test("an unknown run, and one of another user, are not found", async () => {
  const unknown = await yard(["runs", "cancel", "01M82K2WQ5AF7SG9E33ST6442Z"]);
  assert.equal(unknown.code, 3, unknown.errors);
  const tail = await yard(["runs", "tail", "01M82K2WQ5AF7SG9E33ST6442Z", "--wait", "1"]);
  assert.equal(tail.code, 3, tail.errors);
  assert.match(tail.errors, /is still unknown after/);
  const own = (await yardCommand(state, "run", "demo", "hello", "--no-wait")) as { runId: string };
  const foreign = await yard(["runs", "show", own.runId]);
  assert.equal(foreign.code, 3, foreign.errors);
});

test("a command that needs NATS or another role names that need", async () => {
  const streams = await yard(["streams", "list"]);
  assert.equal(streams.code, 2, streams.errors);
  assert.match(streams.errors, /needs a connection to NATS/);
  const stop = await yard(["policy", "stop", "--agent", "demo", "--reason", "no"]);
  assert.equal(stop.code, 4, stop.errors);
});

test("a wrong key, a gateway that is away and an address that is not encrypted are said as such", async () => {
  const wrong = await yard(["runs", "list"], { env: { YARD_API_KEY: `yk_${"x".repeat(40)}` } });
  assert.equal(wrong.code, 4, wrong.errors);
  assert.match(wrong.errors, /refused the API key/);
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  const away = await yard(["--server", nowhere, "runs", "list"], {
    env: { YARD_API_KEY: key },
  });
  assert.equal(away.code, 6, away.errors);
  assert.match(away.errors, /ECONNREFUSED/);
  const none = await yard(["runs", "list", "--server", nowhere]);
  assert.equal(none.code, 4, none.errors);
  assert.match(none.errors, /no API key for/);
  const open = await yard(["login", "http://switchyard.example.com"], { input: key });
  assert.equal(open.code, 2, open.errors);
  assert.match(open.errors, /not encrypted/);
  for (const { errors } of [wrong, away, none, open]) assert.ok(!errors.includes(key));
});

test("everything over HTTP works with what Node.js has on Windows, and yard dev names WSL [A23]", async () => {
  const onWindows = async (words: readonly string[], input?: string): Promise<string> => {
    const { code, out, errors } = await yardOnWindows(words, input);
    assert.equal(code, 0, `yard ${words.join(" ")}: ${errors}`);
    return out;
  };
  await onWindows(["login", instance.httpUrl, "--name", "windows"], `${key}\n`);
  assert.match(await onWindows(["context", "list"]), /windows/);
  assert.notEqual((await onWindows(["run", "demo", "What is in this folder?"])).trim(), "");
  const note = join(home, "note.txt");
  await writeFile(note, "plugh");
  await onWindows(["run", "demo", "What is in this file?", "--file", note]);
  assert.match(await onWindows(["runs", "list"]), /demo/);
  assert.match(await onWindows(["runs", "show", "last"]), /list_directory/);
  assert.match(await onWindows(["agents", "list"]), /demo/);
  for (const words of ["approvals list", "tools list --all", "policy rules", "sessions list"])
    await onWindows(words.split(" "));
  await onWindows(["chat", "--agent", "demo"], "hello\n/exit\n");
  await onWindows(["context", "use", "office"]);
  const refused = await yardOnWindows(["dev"]);
  assert.equal(refused.code, 1);
  assert.match(refused.errors, /Windows[^]*WSL/);
});

test("signs out: the key is gone, and a key of before is refused once it is revoked", async () => {
  const { keys } = (await yardCommand(state, "keys", "api", "list")) as {
    keys: { id: string; caller: string }[];
  };
  await yardCommand(state, "keys", "api", "revoke", keys[0]?.id ?? "");
  const refused = await yard(["runs", "list"]);
  assert.equal(refused.code, 4, refused.errors);
  const { code, errors } = await yard(["logout", "office"]);
  assert.equal(code, 0, errors);
  await assert.rejects(stat(join(home, ".config/switchyard/keys/office.key")), { code: "ENOENT" });
  const nothing = await yard(["runs", "list"]);
  assert.equal(nothing.code, 6, nothing.errors);
  assert.match(nothing.errors, /nothing runs for/);
});

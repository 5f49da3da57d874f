import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { assertGolden } from "../../test-fixtures/golden.ts";
import { parseCommandLine } from "../../test-fixtures/parse-command-line.ts";
import { yardInTerminal } from "../../test-fixtures/pseudo-terminal.ts";
import { shellWords } from "../../test-fixtures/shell-words.ts";
import { yard, yardDev, yardEnvironment } from "../../test-fixtures/yard-process.ts";

const directory = await testDirectory();
const project = join(directory, "my-project");
const env: NodeJS.ProcessEnv = {
  ...yardEnvironment(join(directory, "state")),
  HOME: directory,
  XDG_CONFIG_HOME: join(directory, "config"),
  TERM: "xterm",
};

/** A model that streams the same three pieces slowly, and records its requests. */
const asked: { messages: { role: string; content: unknown }[] }[] = [];
const PIECES = ["A streamed ", "answer of ", "three pieces."];
const server = createServer((request, response) => {
  void (async () => {
    let body = "";
    for await (const part of request) body += String(part);
    asked.push(JSON.parse(body));
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = (delta: object, finish: string | null = null): string => {
      const choices = [{ index: 0, delta, finish_reason: finish }];
      const base = { id: "c1", object: "chat.completion.chunk", created: 1, model: "served" };
      return `data: ${JSON.stringify({ ...base, choices })}\n\n`;
    };
    for (const content of PIECES) response.write(chunk({ role: "assistant", content }));
    response.end(`${chunk({}, "stop")}data: [DONE]\n\n`);
  })();
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
after(() => {
  server.closeAllConnections();
  server.close();
});
const { port } = server.address() as AddressInfo; // a TCP server's

const made = await yard(["init", project, "--template", "team"], env);
writeFileSync(
  join(project, "models.json"),
  JSON.stringify({
    default: "scripted/plan",
    providers: { local: { type: "openai-compatible", baseURL: `http://127.0.0.1:${port}/v1` } },
  }),
);
writeFileSync(
  join(project, "agents", "sleeper.md"),
  `---\nname: sleeper\ndescription: Waits.\ntools: [wait]\nplan:\n  steps:\n    - say: I wait.\n      calls: [{ tool: wait, with: { seconds: 600 }, as: w }]\n  answer: done\n---\n`,
);
writeFileSync(
  join(project, "agents", "guide.md"),
  "---\nname: guide\ndescription: Guides.\n---\nYou guide people.\n",
);
writeFileSync(
  join(project, "agents", "asker.md"),
  `---\nname: asker\ndescription: Asks.\ntools: [ask_user]\nplan:\n  steps:\n    - calls: [{ tool: ask_user, with: { question: Which colour?, options: [red, blue] }, as: said }]\n  answer: "You chose: {{/results/said/text}}"\n---\n`,
);

const printed = made.stdout
  .split("\n")
  .filter((line) => /^ {2}(?:'[^']*yard'|\S*yard) /.test(line));
const [devLine = "", runLine = ""] = printed.map((line) => line.trim());
const started = yardDev(["--project", project, ...shellWords(devLine).slice(2)], env);
await started.printed("Ctrl-C stops everything");

test("what init prints is what yard takes, and the project runs as it says", async () => {
  assert.equal(made.code, 0, made.stderr);
  assert.equal(printed.length, 4);
  for (const line of printed) await parseCommandLine(...shellWords(line.trim()).slice(1));
  const { code, stdout, stderr } = await yard(shellWords(runLine).slice(1), env);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /begin with: # Notes$/m);
  assert.match(stdout, /rule notes-stay denies write_file/);
  const again = await yard(["init", project], env);
  assert.equal(again.code, 2);
  assert.match(again.stderr, /nothing was written/);
});

test("the projects of all templates pass their own tests, and a project is never half written", async () => {
  for (const template of ["minimal", "team", "openclaw"]) {
    const place = join(directory, template);
    const json = await yard(
      ["init", place, "--template", template, "--model", "local/served", "--json"],
      env,
    );
    assert.equal(json.code, 0, json.stderr);
    assert.equal(JSON.parse(json.stdout).data.template, template);
    assert.equal(
      JSON.parse(readFileSync(join(place, "models.json"), "utf8")).default,
      "local/served",
    );
    const tested = await yard(["policy", "test", join(place, "policies")], env);
    assert.equal(tested.code, 0, tested.stderr + tested.stdout);
    const scanned = await yard(["skills", "scan", join(place, "skills")], env);
    assert.equal(scanned.code, 0, scanned.stderr);
  }
});

test("one message: the answer alone on stdout, lines of a pipe one after the other", async () => {
  const one = await yard(["chat", "--agent", "helper", "-m", "hello"], env);
  assert.equal(one.code, 0, one.stderr);
  assert.match(one.stdout, /^You asked: "hello"\n/);
  assert.match(one.stderr, /✗ denied · rule notes-stay/);
  const json = await yard(["chat", "--agent", "helper", "-m", "hello", "--json"], env);
  assert.equal(JSON.parse(json.stdout).data.end.end, "finished");
  const unknown = await yard(["chat", "--agent", "nobody", "-m", "x"], env);
  assert.equal(unknown.code, 3);
});

test("a recorded run replays under the rules that init wrote", async () => {
  const file = join(directory, "run.json");
  const recorded = await yard(["run", "helper", "hello", "--record", file], env);
  assert.equal(recorded.code, 0, recorded.stderr);
  const replayed = await yard(["runs", "replay", file], env);
  assert.equal(replayed.code, 0, replayed.stderr);
  assert.equal(replayed.stdout, recorded.stdout);
  // A file whose name could be the id of a run.
  await yard(["run", "helper", "hello", "--record", "recorded"], env, directory);
  const bare = await yard(["runs", "replay", "recorded"], env, directory);
  assert.equal(bare.code, 0, bare.stderr);
});

test("a chat ends with --timeout, and its run continues", async () => {
  const words = ["chat", "--agent", "sleeper", "-m", "hello", "--timeout", "10"];
  const late = await yard(words, env, undefined, "\n");
  assert.equal(late.code, 7, late.stderr);
  const [, runId = ""] = /no longer following.*\.\/yard runs show (\S+)/.exec(late.stderr) ?? [];
  assert.equal((await yard(["runs", "cancel", runId], env)).code, 0, late.stderr);
});

test("an image is no message, be it one or a line of a pipe", async () => {
  const image = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
  for (const args of [["chat"], ["chat", "-m", "-"], ["run", "helper", "-"]]) {
    const { code, stderr } = await yard([...args], env, undefined, image);
    assert.equal(code, 2, args.join(" "));
    assert.match(stderr, /standard input is not text.*\n.*--file PATH/);
  }
});

test("a skill in the chat sends its rendered prompt to the model [D25, D26, D27, DR7, X27]", async () => {
  const before = asked.length;
  const said = await yard(
    ["chat", "--agent", "helper", "--model", "local/served", "-m", "/greet Ada"],
    env,
  );
  assert.equal(said.code, 0, said.stderr);
  assert.equal(said.stdout, `${PIECES.join("")}\n`);
  assert.match(said.stderr, /\[Invoking skill: greet\]/);
  const [first] = asked.slice(before);
  assert.match(JSON.stringify(first?.messages), /Greet Ada in one friendly sentence/);
  const whole = first?.messages.map(({ role, content }) => `[${role}]\n${String(content)}\n`);
  assertGolden("prompt-of-greet.txt", whole?.join("\n") ?? "", { [directory]: "DIRECTORY" });
});

test("a skill is off for a conversation, and its model does not see it [DR6, DR13]", async () => {
  const key = "without-greet";
  const options = ["--agent", "guide", "--session", key, "--model", "local/served"];
  const given = (): string => JSON.stringify(asked.at(-1)?.messages);
  const chat = yardInTerminal(["chat", ...options], { env: { ...env, NO_COLOR: "1" } });
  await chat.shows("> ");
  chat.line("/skill off nothing");
  await chat.shows("Skill 'nothing' not found. Run /skills to see available skills.");
  chat.line("/skill off greet");
  await chat.shows("Skill greet is off in this conversation.");
  chat.line("/skill off greet");
  await chat.shows("Skill greet is off already.");
  chat.line("/skills");
  await chat.shows("NAME");
  await chat.shows("Off in this conversation: greet. On again with: /skill on greet");
  chat.line("hello");
  await chat.shows("pieces.");
  await chat.shows("> ");
  assert.match(given(), /You guide people/);
  assert.doesNotMatch(given(), /greet/i);
  chat.line("/greet Ada");
  await chat.shows("the skill greet is off in this session");
  chat.line("/exit");
  assert.equal(typeof (await chat.exited), "number");
  // It is a setting of the session, so it applies when the session is continued.
  const again = yardInTerminal(["chat", "--session", key], { env: { ...env, NO_COLOR: "1" } });
  await again.shows("guide answers.");
  await again.shows("> ");
  again.line("/skill on greet");
  await again.shows("Skill greet is on again.");
  again.line("/model local/served");
  await again.shows("Model: ");
  again.line("hello");
  await again.shows("pieces.");
  await again.shows("> ");
  assert.match(given(), /<skill name=[^>]*greet/);
  again.line("/use greet Ada");
  await again.shows("[Invoking skill: greet]");
  await again.shows("pieces.");
  await again.shows("> ");
  assert.match(given(), /Greet Ada in one friendly sentence/);
  again.line("/status");
  await again.shows("approvals");
  again.line("/exit");
  assert.equal(await again.exited, 0);
  const set = await yard(["sessions", "set", key, "--skills-off", "greet, sum"], env);
  assert.match(set.stdout, /^skills off +greet, sum$/m);
  const none = await yard(["sessions", "set", key, "--skills-off", "", "--json"], env);
  assert.deepEqual(JSON.parse(none.stdout).data.session.skillsOff, []);
});

test("at a terminal: type, see the answer once, switch, approve, answer a question, cancel, leave [D23, D24, D29, D62]", async () => {
  const key = "terminal-1";
  const chat = yardInTerminal(
    ["chat", "--agent", "helper", "--session", key, "--model", "local/served"],
    {
      env: { ...env, NO_COLOR: "1" },
      columns: 40,
    },
  );
  await chat.shows("> ");
  chat.line("hello");
  const answered = await chat.shows("pieces.");
  await chat.shows("> ");
  // Once, and broken at a word in a terminal of 40 columns.
  assert.equal(answered.split("A streamed").length, 2, answered);
  chat.line("/model default");
  await chat.shows("Model: the agent's own");
  chat.line("/agent nobody");
  await chat.shows("Agent 'nobody' not found. Run /agents to see available agents.");
  chat.line("/agent writer");
  await chat.shows("Switched to agent: writer (config default)");
  chat.line("write it");
  const asks = await chat.shows("Approve? [y once, n no, ? explain]");
  assert.doesNotMatch(asks, /started by cli/);
  chat.line("s");
  await chat.shows("there is no approval for a session");
  await chat.shows("Approve?");
  chat.line("?");
  await chat.shows("id      apr-");
  await chat.shows("y  approve this call, once");
  await chat.shows("./yard policy explain write_file ARGUMENTS --user cli --agent writer");
  await chat.shows("Approve?");
  chat.line("y");
  await chat.shows("allowed by writer-writes");
  await chat.shows("The summary: Wrote 23 bytes");
  chat.line("/agent asker");
  await chat.shows("Switched to agent: asker");
  chat.line("ask me");
  await chat.shows("1. red");
  await chat.shows("Answer: ");
  chat.line("2");
  await chat.shows("You chose: blue");
  chat.line("/agent sleeper");
  await chat.shows("Switched to agent: sleeper");
  chat.line("sleep");
  await chat.shows("→ wait");
  chat.control("c");
  await chat.shows("cancelling the run");
  await chat.shows("■ cancelled");
  chat.line("/memory");
  await chat.shows("sleeper has nothing in its memory for you");
  chat.line("/memory search tea");
  await chat.shows("nothing in the memory of sleeper has tea");
  chat.line("/config chat.agent");
  await chat.shows("sleeper");
  chat.line("/workspace");
  await chat.shows("my-project");
  chat.line("/agents");
  await chat.shows("writer");
  chat.line("/tools");
  await chat.shows("the policy lets you call no");
  chat.line("/nope");
  await chat.shows("Unknown command: /nope. Type /help for available commands");
  chat.line("/help exit-codes");
  await chat.shows("130  interrupted");
  chat.line("/session");
  await chat.shows(key);
  chat.line("/exit");
  await chat.shows(`./yard chat --session ${key}`);
  assert.equal(await chat.exited, 0);
  assert.doesNotMatch(
    chat.raw(),
    new RegExp(`${String.fromCodePoint(27)}\\[\\d+m`),
    "no colour with NO_COLOR",
  );
  assert.equal(chat.raw().match(/■ cancelled/g)?.length, 1, "a cancellation is shown once");
  for (const card of chat
    .raw()
    .split(/\r?\n/)
    .filter((line) => line.startsWith("  →")))
    assert.ok(card.length <= 40, card);
  const history = join(directory, "state", "chat-history");
  assert.match(readFileSync(history, "utf8"), /^\/exit\n\/session\n/);
  assert.equal(statSync(history).mode & 0o777, 0o600);
});

test("a chat is resumed with what was said, and Ctrl-C twice leaves with 130", async () => {
  const chat = yardInTerminal(["chat", "--session", "terminal-1"], { env });
  await chat.shows("sleeper answers.");
  await chat.shows("> sleep");
  await chat.shows("> ");
  chat.control("c");
  await chat.shows("Ctrl-C again");
  chat.line("sleep");
  await chat.shows("→ wait");
  chat.control("c");
  await chat.shows("cancelling the run; Ctrl-C again leaves at once");
  chat.control("c");
  assert.equal(await chat.exited, 130);
  assert.doesNotMatch(chat.raw(), /rror/);
});

test("/clear forgets what was said, and /quit leaves as /exit does [D23]", async () => {
  const lines = "hello\n/clear\n/session\n/quit\n/help\n";
  const args = ["chat", "--agent", "helper", "--session", "cleared"];
  const { code, stdout } = await yard(args, env, undefined, lines);
  assert.equal(code, 0);
  assert.match(stdout, /What was said here is forgotten\./);
  assert.doesNotMatch(stdout, /this list, a topic or one command/, "nothing is read behind /quit");
});

test("yard run prompts at a terminal, prints the command elsewhere and ends with 5, and /approve shows a call before it is executed", async () => {
  const run = yardInTerminal(["run", "writer", "write it"], { env: { ...env, NO_COLOR: "1" } });
  await run.shows("Approve? [y once");
  run.line("n");
  await run.shows("Reason for the agent");
  run.line("not today");
  await run.shows("not today");
  assert.equal(await run.exited, 0);
  const piped = await yard(["run", "writer", "write it", "--wait-for", "15"], env);
  assert.equal(piped.code, 5, piped.stderr);
  const [, command = ""] = /\.\/yard (approvals approve apr-\S+)/.exec(piped.stderr) ?? [];
  const id = command.split(" ").at(-1) ?? "";
  const chat = yardInTerminal(["chat", "--session", "terminal-1"], { env });
  await chat.shows("> ");
  chat.line("/approve");
  await chat.shows(`let it happen with: /approve ${id}`);
  const pending = await yard(["approvals", "show", id, "--json"], env);
  assert.equal(JSON.parse(pending.stdout).data.approval.state, "pending", "it was shown only");
  chat.line(`/approve ${id}`);
  await chat.shows("approved, this once");
  chat.line("/exit");
  assert.equal(await chat.exited, 0);
  const tail = await yard(["runs", "tail", "last"], env);
  assert.equal(tail.code, 0, tail.stderr);
});

test("runs are filtered by label, and an empty list says why", async () => {
  const args = ["run", "helper", "hello", "--label", "team=core", "--label", "kind=a=b"];
  assert.equal((await yard(args, env)).code, 0);
  for (const [labels, found] of [
    [["team=core"], 1],
    [["team"], 1],
    [["team=core", "kind=a=b"], 1],
    [["team=other"], 0],
    [["toString"], 0],
  ] as const) {
    const list = ["runs", "list", ...labels.flatMap((label) => ["--label", label])];
    const { runs } = JSON.parse((await yard([...list, "--json"], env)).stdout).data;
    assert.equal(runs.length, found, labels.join(" "));
  }
  const none = await yard(["runs", "list", "--label", "team=other", "--status", "dead"], env);
  assert.match(none.stderr, /no run has status dead, label team=other; see all with/);
  const unknown = await yard(["runs", "list", "--agent", "helperr"], env);
  assert.match(unknown.stderr, /no agent has this name; did you mean helper\?/);
});

test("status shows one screen, and completion offers existing names [D41]", async () => {
  const { code, stdout, stderr } = await yard(["status"], env);
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    /^services +broker, channels, gateway, importer, policy, runner, scheduler, toolbox$/m,
  );
  assert.match(stdout, /^stopped +nothing$/m);
  const json = await yard(["status", "--json"], env);
  assert.deepEqual(JSON.parse(json.stdout).data.missing, []);
  // The limit of a completion is short, and a busy machine may need a second Tab.
  await until(
    () => yard(["__complete", "run", "wr"], env),
    (completed) => completed.stdout === "writer\n",
  );
  const used = await yard(["agents", "use", "writer"], env);
  assert.equal(used.code, 0, used.stderr);
  assert.equal((await yard(["config", "get", "agent"], env)).stdout, "writer\n");
});

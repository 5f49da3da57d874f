import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { callBuiltin, cancelBuiltin } from "@switchyard/contracts/toolbox/toolbox";
import { until } from "@switchyard/local-servers/until";
import { APPROVAL, DIGEST, runToken, toolboxWorld } from "../../test-fixtures/test-toolbox.ts";
import { ownWorkspaces } from "../workspace/workspaces.ts";

const world = await toolboxWorld();
const { policy, noCommands: skip } = world;
const toolbox = await world.start();
const file = (...names: string[]): string => join(toolbox.workspaces, ...names);

afterEach(() => {
  policy.answer = () => "allow";
});

const write = (path: string, more: object = {}) =>
  world.call({ tool: "write_file", args: { path, content: "x" }, ...more });

test("lists the built-in tools with schemas and tiers, and only those that the policy allows, to runs as to people [X14] [F1]", async () => {
  policy.answer = (tool) => (tool === "execute_command" ? "deny" : "allow");
  const { tools } = await world.tools();
  assert.deepEqual(
    tools.map(({ name, tier }) => `${name} ${tier}`),
    [
      "read_file auto",
      "list_files auto",
      "search_files auto",
      "write_file session",
      "edit_file session",
      "web_fetch session",
      "memory_read auto",
      "memory_write session",
      "sessions_list auto",
      "sessions_history auto",
      "session_status auto",
      "agents_list auto",
      "sessions_send session",
      "sessions_spawn session",
      "subagents auto",
      "message_send session",
      "message_reply session",
      "message_thread_reply session",
      "message_send_attachment session",
      "message_send_with_effect session",
      "message_broadcast session",
      "message_react session",
      "message_pin session",
      "message_delete session",
      "message_read auto",
      "cron_status auto",
      "cron_list auto",
      "cron_runs auto",
      "cron_add session",
      "cron_update session",
      "cron_remove session",
      "cron_run session",
    ],
  );
  // A run has the same tools: which of them it may call is up to the policy. Its model is not shown what a client fills in.
  const { tools: ofRun } = await world.tools({ token: runToken("run-1") });
  const namesOf = (list: typeof tools) => list.map(({ name }) => name);
  assert.deepEqual(namesOf(ofRun), namesOf(tools));
  const hidden = /callerSession|callerSandboxed|origin[A-Z]|setByClient/;
  assert.match(JSON.stringify(tools), hidden);
  assert.doesNotMatch(JSON.stringify(ofRun), hidden);
  const [read] = tools;
  assert.deepEqual(read?.inputSchema["required"], ["path"]);
  assert.equal(read?.inputSchema["additionalProperties"], false);
});

test("a call does its work in the run's own workspace, and reports who decided", async () => {
  const reply = await write("a.txt", { token: runToken("run-1") });
  assert.equal(reply.text, "Wrote 1 bytes to a.txt (new file).");
  assert.equal(reply.isError, false);
  assert.equal(reply.decision.policyDigest, DIGEST);
  assert.deepEqual(reply.structuredContent, { path: "a.txt", bytesWritten: 1, isNew: true });
  assert.equal(await readFile(file("run-run-1", "a.txt"), "utf8"), "x");
  await write("b.txt");
  assert.deepEqual(await readdir(file("user-cli")), ["b.txt"]);
});

test("the policy request names the tool without a server, with the arguments that will be used", async () => {
  policy.asked.length = 0;
  await world.call({ tool: "list_directory", args: {} });
  assert.deepEqual(policy.asked, [
    {
      tool: "list_files",
      server: null,
      args: { directory: ".", recursive: false },
      onBehalfOf: "cli",
    },
  ]);
});

test("a denied call's side effect does not exist [ER1]", async () => {
  policy.answer = () => "deny";
  const command = { tool: "execute_command", args: { command: "touch denied.txt" } };
  for (const attempt of [() => write("denied.txt"), () => world.call(command)])
    await assert.rejects(attempt, (error) => isError(error, callBuiltin, "denied"));
  assert.equal(existsSync(file("user-cli", "denied.txt")), false);
});

test("a call that needs a person waits for one, and then happens once [E11] [ER1]", async () => {
  policy.answer = () => "ask";
  await assert.rejects(write("asked.txt"), (error) => {
    assert.ok(isError(error, callBuiltin, "approval_required"));
    assert.equal(error.data.approvalId, APPROVAL);
    return true;
  });
  assert.equal(existsSync(file("user-cli", "asked.txt")), false);
  policy.approved.add(APPROVAL);
  const { decision } = await write("asked.txt", { approvalId: APPROVAL });
  assert.equal(
    decision.effect,
    "allow",
    "a call that was made is not reported as an open question",
  );
  assert.equal(existsSync(file("user-cli", "asked.txt")), true);
  await assert.rejects(write("again.txt", { approvalId: APPROVAL }), (error) =>
    isError(error, callBuiltin, "approval_required"),
  );
});

test("a call whose arguments an approver changed is made with these, as the tool takes them", async () => {
  policy.answer = () => "ask";
  policy.edited = { by: "ann", args: { path: "edited.txt", content: "changed" } };
  const { text } = await write("unedited.txt");
  assert.match(text, /^\[ann changed the arguments .*edited\.txt/);
  assert.equal(existsSync(file("user-cli", "unedited.txt")), false);
  assert.equal(existsSync(file("user-cli", "edited.txt")), true);
  assert.deepEqual(policy.asked.at(-1)?.args, policy.edited.args, "the rules decide about them");
  policy.edited = { by: "ann", args: { path: 5 } };
  await assert.rejects(write("unedited.txt"), (error) =>
    isError(error, callBuiltin, "invalid_arguments"),
  );
  policy.edited = null;
});

const command = (args: Record<string, unknown>) => ({ tool: "execute_command", args });
/** Calls that no approval would make succeed. */
const USELESS = [
  ...(skip === false
    ? [
        command({ command: "echo a; echo b" }),
        command({ command: "ls | wc -l" }),
        command({ command: "echo 'no end" }),
        command({ command: '""' }),
        command({ command: "ls", cwd: "../.." }),
      ]
    : []),
  { tool: "write_file", args: { path: "../out.txt", content: "x" } },
  { tool: "write_file", args: { path: "", content: "x" } },
  { tool: "edit_file", args: { path: "/etc/passwd", oldText: "a", newText: "b" } },
  { tool: "read_file", args: { path: "/etc/passwd" } },
  { tool: "list_files", args: { directory: ".." } },
  { tool: "search_files", args: { text: "a", files: "*.{ts,js}" } },
  { tool: "web_fetch", args: { url: "ftp://example.com/" } },
  { tool: "web_fetch", args: { url: "http://169.254.169.254/latest" } },
];

test("a call that can only fail is refused before the approval of a person is requested", async () => {
  policy.answer = () => "ask";
  for (const [index, request] of USELESS.entries())
    await assert.rejects(world.call({ ...request, callId: `useless-${index}` }), (error) => {
      const about = JSON.stringify(request);
      assert.ok(isError(error, callBuiltin, "invalid_arguments"), `${about}: ${String(error)}`);
      assert.match(error.message, /can only fail: .*no approval was requested/, about);
      return true;
    });
  if (skip !== false) return;
  const shell = command({ command: "echo a; echo b", shell: true });
  await assert.rejects(world.call({ ...shell, callId: "useless-0" }), (error) =>
    isError(error, callBuiltin, "approval_required"),
  );
});

test("without a clear answer of the policy no call is made", async () => {
  policy.answer = () => "silence";
  await assert.rejects(write("silent.txt"), (error) =>
    isError(error, callBuiltin, "policy_unavailable"),
  );
  policy.answer = () => "invalid_token";
  await assert.rejects(write("forged.txt", { token: "forged" }), (error) =>
    isError(error, callBuiltin, "invalid_token"),
  );
  for (const name of ["silent.txt", "forged.txt"])
    assert.equal(existsSync(file("user-cli", name)), false);
});

test("an unknown tool and bad arguments look like a denied call to a caller without permission", async () => {
  policy.answer = () => "deny";
  for (const request of [
    { tool: "no_such_tool", args: {} },
    { tool: "write_file", args: { nonsense: true } },
  ])
    await assert.rejects(world.call(request), (error) => isError(error, callBuiltin, "denied"));
  policy.answer = () => "allow";
  await assert.rejects(world.call({ tool: "no_such_tool", args: {} }), (error) =>
    isError(error, callBuiltin, "unknown_tool"),
  );
  await assert.rejects(world.call({ tool: "mcp__a b", args: {} }), (error) =>
    isError(error, callBuiltin, "unknown_tool"),
  );
  await assert.rejects(
    world.call({ tool: "write_file", args: { path: "a", content: 7 } }),
    (error) => {
      assert.ok(isError(error, callBuiltin, "invalid_arguments"));
      assert.equal(error.data.problems[0]?.pointer, "/content");
      return true;
    },
  );
});

test("errors about bad arguments repeat little of them", async () => {
  const args = { path: "a", content: "x", ["k".repeat(100_000)]: 1 };
  await assert.rejects(world.call({ tool: "write_file", args }), (error) => {
    assert.ok(isError(error, callBuiltin, "invalid_arguments"));
    assert.match(error.message, /is unknown/);
    assert.ok(JSON.stringify([error.message, error.data]).length < 2_000);
    return true;
  });
});

test("a failure of a tool is a result with isError, for the model to read", async () => {
  const reply = await world.call({ tool: "read_file", args: { path: "../../etc/passwd" } });
  assert.equal(reply.isError, true);
  assert.match(reply.text, /^Error: Path '.*' is outside the allowed workspace/);
});

test("a command that fails is a result and no error", { skip }, async () => {
  const failed = await world.call({ tool: "execute_command", args: { command: "false" } });
  assert.equal(failed.isError, false);
  assert.match(failed.text, /^Exit code 1\./);
});

test("a repeated callId gets the stored result, and its call happened once", { skip }, async () => {
  const request = {
    tool: "execute_command",
    args: { command: "echo again >> count.txt", shell: true },
    callId: "once-1",
    token: runToken("once"),
  };
  const [first, second] = await Promise.all([world.call(request), world.call(request)]);
  const third = await world.call(request);
  assert.deepEqual(
    [first, second, third]
      .map(({ replayed }) => replayed)
      .toSorted((a, b) => Number(a) - Number(b)),
    [false, true, true],
  );
  assert.equal(third.text, first.text);
  assert.equal(await readFile(file("run-once", "count.txt"), "utf8"), "again\n");
  await assert.rejects(world.call({ ...request, args: { command: "echo other" } }), (error) =>
    isError(error, callBuiltin, "call_id_conflict"),
  );
  policy.answer = () => "deny";
  await assert.rejects(world.call(request), (error) => isError(error, callBuiltin, "denied"));
});

test("a runner that lost its run can make no further call", async () => {
  const token = runToken("taken");
  await write("new.txt", { token, epoch: 2 });
  await assert.rejects(write("old.txt", { token, epoch: 1 }), (error) =>
    isError(error, callBuiltin, "stale_epoch"),
  );
  assert.deepEqual(await readdir(file("run-taken")), ["new.txt"]);
});

test("a cancelled call ends its command, at whichever toolbox it is", { skip }, async () => {
  const other = await world.start({ YARD_WORKSPACES_DIR: toolbox.workspaces });
  const running = Array.from({ length: 4 }, (_, index) => {
    const callId = `cancel-${index}`;
    const args = { command: `echo > begun-${index}; sleep 300`, shell: true, timeout: 30_000 };
    const token = runToken("cancel");
    return { callId, token, ended: world.call({ tool: "execute_command", args, callId, token }) };
  });
  const ends = running.map(({ ended }) =>
    assert.rejects(ended, (error) => isError(error, callBuiltin, "cancelled")),
  );
  for (const { callId, token } of running) {
    await until(() => existsSync(file("run-cancel", `begun-${callId.at(-1)}`)));
    const stranger = await call(world.cli, cancelBuiltin, { callId, token: runToken("stranger") });
    assert.deepEqual(stranger, { cancelled: false });
    assert.deepEqual(await call(world.cli, cancelBuiltin, { callId, token }), { cancelled: true });
  }
  await Promise.all(ends);
  await other.stop();
});

test("a call that waits for its decision is cancelled and not made, by its own run alone", async () => {
  const decided = Promise.withResolvers<void>();
  world.policy.hold = decided.promise;
  const before = world.policy.asked.length;
  const token = runToken("undecided");
  const args = { path: "late.txt", content: "x" };
  const request = { tool: "write_file", args, callId: "undecided-1", token };
  const waiting = world.call(request);
  const refused = assert.rejects(waiting, (error) => {
    assert.ok(isError(error, callBuiltin, "cancelled"), String(error));
    assert.deepEqual(error.data, { callId: "undecided-1", sent: false });
    return true;
  });
  await until(() => world.policy.asked.length > before);
  world.policy.hold = null;
  const cancel = (by: string): Promise<unknown> =>
    call(world.cli, cancelBuiltin, { callId: "undecided-1", token: by });
  assert.deepEqual(await cancel(runToken("stranger")), { cancelled: false });
  assert.deepEqual(await cancel(token), { cancelled: true });
  decided.resolve();
  await refused;
  assert.equal(existsSync(file("run-undecided", "late.txt")), false);
  assert.equal((await world.call(request)).replayed, false, "its id is free");
});

test(
  "a command gets no more time than its caller waits, and the caller gets a result",
  { skip },
  async () => {
    const reply = await world.call(
      { tool: "execute_command", args: { command: "sleep 300", timeout: 300_000 } },
      { timeoutMs: 3_000 },
    );
    assert.match(reply.text, /^Ended after \d+ ms, before it was done/);
  },
);

test("memory belongs to the agent of the token", async () => {
  const token = runToken("memory");
  await world.call({ tool: "memory_write", args: { name: "n", content: "kept" }, token });
  const later = await world.call({
    tool: "memory_read",
    args: { name: "n" },
    token: runToken("m2"),
  });
  assert.equal(later.text, "kept");
  const stranger = await world.call({ tool: "memory_read", args: {} });
  assert.equal(stranger.isError, true);
});

test("runs of one session share a workspace where the setting allows it, and no other run's", async () => {
  const mode = "limited-control";
  const parent = file();
  const principal = { user: "cli", agent: "demo", runId: "s1", context: { session: "chat/../:1" } };
  const shared = ownWorkspaces({ parent, scope: "session", mode });
  const { root } = await shared.of(principal);
  assert.equal((await shared.of({ ...principal, runId: "s2" })).root, root);
  assert.notEqual((await shared.of({ ...principal, user: "other" })).root, root);
  assert.notEqual((await shared.of({ ...principal, context: { session: "b" } })).root, root);
  const single = ownWorkspaces({ parent, scope: "run", mode });
  assert.equal((await single.of(principal)).root, join(root, "..", "run-s1"));
});

test("only workspaces that have long been unused are removed", async () => {
  const parent = file();
  const spaces = ownWorkspaces({ parent, scope: "run", mode: "limited-control" });
  const old = await spaces.of({ user: "cli", agent: "demo", runId: "old" });
  await writeFile(file("notes.txt"), "");
  const [longAgo, between] = [new Date("2020-01-01"), new Date("2021-01-01")];
  for (const path of [old.root, file("notes.txt")]) await utimes(path, longAgo, longAgo);
  assert.equal(await spaces.sweep(between), 1);
  assert.equal(existsSync(old.root), false);
  assert.equal(existsSync(file("notes.txt")), true);
});

test("a run that sends without a target gets an error that asks for one [F14]", async () => {
  const reply = { tool: "message_reply", args: { message: "x" } };
  const { text, isError: failed } = await world.call({ ...reply, token: runToken("cron-1") });
  assert.equal(failed, true);
  assert.match(text, /Explicit message target required for this run\. Give target/);
  assert.match((await world.call(reply)).text, /Action reply requires a target\./);
});

test("a message with the bytes of a file gets an error about how to send files, and a list does not show them [F13] [F19]", async () => {
  for (const [tool, args] of [
    ["message_send", { target: "user:1", message: "x", buffer: "aGk=", filename: "hi.txt" }],
    ["message_send_attachment", { target: "user:1", file: "hi.txt", buffer: "aGk=" }],
  ] as const) {
    const { text, isError: failed } = await world.call({ tool, args });
    assert.equal(failed, true);
    assert.match(text, /buffer is unavailable because channels take files by reference/);
  }
  const { tools } = await world.tools();
  assert.doesNotMatch(JSON.stringify(tools), /"buffer"|"contentType"/);
});

test("counts calls by tool and outcome, and logs none of their content", async () => {
  await write("secret-canary.txt", { token: runToken("canary") });
  const text = await toolbox.metrics.metrics();
  assert.match(text, /yard_toolbox_calls_total\{tool="write_file",outcome="ok"\} \d+/);
  assert.match(text, /yard_toolbox_calls_total\{tool="unknown",outcome="denied"\} 1/);
  assert.doesNotMatch(toolbox.logText(), /canary/);
});

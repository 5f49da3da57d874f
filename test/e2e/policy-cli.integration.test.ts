import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { fileURLToPath } from "node:url";
import { client } from "@switchyard/bus/call";
import { admitCall, settleCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { yard, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { holdingRunner } from "../../services/policy/test/holding-runner.ts";
import { startPolicyWorld } from "../../services/policy/test/policy-world.ts";

const RULES = (note: string) => `version: 1
rules:
  - { id: reads, effect: allow, approval: auto, what: { tools: [files.read_file] } }
  - id: writes
    effect: allow
    approval: session
    ttl: 10m
    what: { tools: [files.write_file] }
    note: ${note}
  - { id: removals, effect: allow, approval: always, what: { tools: [files.remove] } }
`;
const WRITE = mcpToolRef("files", "write_file");
const REMOVE = mcpToolRef("files", "remove");

const world = await startPolicyWorld({ rules: RULES("it changes files"), teams: ["team-a"] });
const policy = await world.startReplica();
const runner = await holdingRunner(await world.connectAs("runner"), world.redis.url);
const broker = client(await world.connectAs("broker"), { checkPolicy, admitCall, settleCall });
const directory = await testDirectory();
const env = {
  ...yardEnvironment(directory),
  YARD_NATS_URL: world.natsUrl,
  YARD_NATS_NKEY_FILE: await world.keyFileOf("cli"),
};

const run = { agent: "demo", requester: "team-a", tools: [], ttlSeconds: 600 };
/** A machine that is busy may take its time. */
const LONG_TIMEOUT = { timeoutMs: 30_000 };
const { token } = await runner.grantRun({ runId: "run-1", ...run }, LONG_TIMEOUT);

/** The request of a provider right before it would send a call. */
async function ask(args: Record<string, unknown>, tool = WRITE, attempt = randomUUID()) {
  const asked = { onBehalfOf: "runner", token, tool, args };
  const { decision, principal } = await broker.checkPolicy(asked, LONG_TIMEOUT);
  const call = { principal, caller: "runner", tool, pin: undefined, args, decision };
  const binding = bindingDigest(call);
  const callId = canonicalDigest(args);
  return broker.admitCall({ ...asked, callId, decision, binding, attempt }, LONG_TIMEOUT);
}

/** The id of a call that waits for a person. */
async function waiting(args: Record<string, unknown>, tool = WRITE): Promise<string> {
  const reply = await ask(args, tool);
  assert.ok(reply.outcome === "waiting", JSON.stringify(reply));
  return reply.approvalId;
}

async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await yard(args, env);
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
  return stdout + stderr;
}

const SEED = `SU${"A2".repeat(28)}`;

test("approvals show what waits with its exact arguments, hidden characters, credentials masked, and what changed", async () => {
  assert.match(await ok("approvals", "list"), /no call waits for an approval/);
  const first = await waiting({ path: "notes/a.txt", content: "one" });
  assert.match(
    await ok("approvals", "list"),
    new RegExp(`^${first} +pending +session +medium +mcp__files`, "m"),
  );
  assert.match(await ok("approvals", "approve", first, "--reason", "fine"), /approved/);
  assert.equal((await ask({ path: "notes/a.txt", content: "one" })).outcome, "passed");

  const args = { path: "notes/b\u200b.txt", content: "one", password: "$(reboot)", token: SEED };
  const second = await waiting(args);
  const shown = await ok("approvals", "show", second);
  assert.match(shown, /^mcp__files__write_file {2}pending$/m);
  assert.match(shown, /who +agent demo in run run-1, started by team-a/);
  assert.match(shown, /why +.*it changes files.*\(rule writes\)/);
  assert.match(shown, /│ .*notes\/b\\u\{200b\}\.txt/);
  assert.match(shown, /! characters that cannot be seen are written as/);
  assert.match(
    shown,
    /"password": "\$\(reboot\)"|"password":"\$\(reboot\)"/,
    "it could be a command",
  );
  assert.match(shown, /! of credentials only length and digest are shown/);
  assert.match(shown, /\[redacted 58 chars sha256:[0-9a-f]{32}…\]/);
  assert.equal(shown.includes(SEED), false);
  assert.match(shown, /\/path\n +- "notes\/a\.txt"\n +\+ "notes\/b\\u\{200b\}\.txt"/);
  assert.doesNotMatch(shown, /^ +\/content$/m, "what is the same is not a change");

  const denied = await ok("approvals", "deny", second, "--reason", "not there");
  assert.match(denied, /denied/);
  const reported = await ask(args);
  assert.ok(reported.outcome === "refused" && /denied by cli: not there/.test(reported.reason));
  for (const verb of ["approve", "deny"])
    assert.equal((await yard(["approvals", verb, "last"], env)).code, 2, "it names no call");
  const { code } = await yard(["approvals", "approve", second], env);
  assert.equal(code, 1, "it has ended");
  assert.equal((await yard(["approvals", "show", `apr-${"0".repeat(32)}`], env)).code, 3);
});

test("a session approval is listed as a grant, covers other calls, and is revoked", async () => {
  const id = await waiting({ path: "c" });
  assert.match(await ok("approvals", "approve", id, "--session", "--uses", "5"), /grt-/);
  assert.equal((await ask({ path: "d" })).outcome, "passed");
  const listed = await ok("grants", "list");
  const [, grant = ""] =
    /^(grt-\S+) +mcp__files__write_file .*agent demo in run run-1/m.exec(listed) ?? [];
  assert.match(listed, / 4 +in \d+\w +cli$/m, "uses left, until when, by whom");
  assert.match(
    await ok("grants", "revoke", grant),
    /is revoked; calls of mcp__files__write_file need a person again/,
  );
  assert.match(await ok("grants", "list"), /there are no standing approvals/);
  assert.equal((await ask({ path: "e" })).outcome, "waiting");
  const always = await waiting({ path: "f" }, REMOVE);
  assert.equal((await yard(["approvals", "approve", always, "--session"], env)).code, 2);
  for (const pending of await pendingIds()) await ok("approvals", "cancel", pending);
});

async function pendingIds(): Promise<string[]> {
  const { stdout } = await yard(["approvals", "list", "--json"], env);
  const { data } = JSON.parse(stdout) as { data: { approvals: { id: string }[] } }; // as the contract says
  return data.approvals.map(({ id }) => id);
}

test("the inbox in a terminal shows each call in full and decides with one key", async () => {
  const inbox = startInbox();
  await inbox.shows("waiting for calls that need an approval");
  await waiting({ path: "by-a" });
  await inbox.shows('"path": "by-a"');
  await inbox.shows("q quit]");
  const screen = inbox.screen();
  assert.match(screen, /mcp__files__write_file {2}pending/);
  assert.match(screen, /who +agent demo in run run-1, started by team-a/);
  assert.match(screen, /why +.*it changes files/);
  assert.match(screen, /Approve\? \[y once, s session, n no, \? explain, l later, q quit\]/);
  inbox.press("?");
  await inbox.shows("y  approve this call, once");
  await inbox.shows("q quit]");
  inbox.press("y");
  await inbox.shows("approved");
  assert.equal((await ask({ path: "by-a" })).outcome, "passed");

  await waiting({ path: "gone" }, REMOVE);
  await inbox.shows('"path": "gone"');
  await inbox.shows("q quit]");
  assert.doesNotMatch(
    inbox.screen().slice(inbox.screen().lastIndexOf("mcp__files__remove")),
    /s session/,
  );
  inbox.press("n");
  await inbox.shows("Reason for the agent");
  inbox.press("never\r");
  await inbox.shows("denied");
  const reported = await ask({ path: "gone" }, REMOVE);
  assert.ok(reported.outcome === "refused" && /denied by cli: never/.test(reported.reason));

  const held = await waiting({ path: "held" });
  const next = await waiting({ path: "by-s" });
  await inbox.shows('"path": "held"');
  await inbox.shows("q quit]");
  const release = inbox.hold("y");
  await inbox.shows("approved");
  await inbox.shows('"path": "by-s"');
  await release({ afterPresses: 15 });
  await inbox.shows("q quit]");
  assert.deepEqual(await pendingIds(), [next], "a key that is held down decides about one call");
  assert.match(await ok("approvals", "show", held), /approved/);
  inbox.press("s");
  await inbox.shows("approved");
  assert.equal((await ask({ path: "another" })).outcome, "passed");
  await waiting({ path: "left" }, REMOVE);
  await inbox.shows('"path": "left"');
  await inbox.shows("q quit]");
  inbox.press("q");
  assert.equal(await inbox.ended, 0);
});

test("policy check, explain and who-can show how a call is decided, and by what", async () => {
  const allowed = await yard(["policy", "check", "files.read_file", "{}", "--agent", "demo"], env);
  assert.equal(allowed.code, 0, allowed.stderr);
  const denied = await yard(["policy", "check", "files.chmod", "{}", "--agent", "demo"], env);
  assert.equal(denied.code, 4, denied.stderr);
  const explained = await ok(
    "policy",
    "explain",
    "files.write_file",
    '{"path":"a"}',
    "--agent",
    "demo",
  );
  assert.match(explained, /^writes ◂ +ask \(session\) +yes/m);
  const who = await ok("policy", "who-can", "files.remove");
  assert.match(who, /^anyone +always +removals +any/m);
  assert.match(
    await ok("policy", "who-can", "files.chmod"),
    /no principal can call .*: no rule allows it/,
  );
});

test("policy test and lint look at a file; activate and rollback change what is in force everywhere", async () => {
  const file = join(directory, "next.yaml");
  await writeFile(
    file,
    `${RULES("other words")}  - { id: closed, effect: deny, what: { tools: [files.read_file] } }\n`,
  );
  const linted = await yard(["policy", "lint", file], env);
  assert.equal(linted.code, 1);
  assert.match(linted.stdout, /^conflict +rule reads allows what rule closed denies/m);
  const tests = join(directory, "next.test.yaml");
  const expecting = (effect: string) =>
    `tests:\n  - { name: reading, given: { tool: files.read_file }, expect: ${effect} }\n`;
  await writeFile(tests, expecting("allow"));
  const tested = await yard(["policy", "test", file], env);
  assert.equal(tested.code, 1);
  assert.match(tested.stdout, /✗ reading/);
  assert.equal((await yard(["policy", "activate", file], env)).code, 1, "its tests fail");
  await writeFile(tests, expecting("deny"));
  assert.match(await ok("policy", "test", file), /✔ reading/);

  // A wait under the old rules is void under the new ones.
  const id = await waiting({ path: "old rules" }, REMOVE);
  assert.match(
    await ok("policy", "activate", file, "--note", "an incident"),
    /in force: version \d+/,
  );
  assert.equal((await yard(["policy", "check", "files.read_file"], env)).code, 4);
  await until(
    async () => {
      const { stdout } = await yard(["approvals", "show", id, "--json"], env);
      return (JSON.parse(stdout) as { data: { approval: { state: string } } }).data.approval.state; // as the contract says
    },
    (state) => state === "cancelled",
  );
  await ok("policy", "rollback", "--note", "over");
  assert.equal((await yard(["policy", "check", "files.read_file"], env)).code, 0);
  assert.match(await ok("policy", "versions"), /an incident/);
});

test("files that are refused are reported with their positions, and an unknown key is not reported as revoked", async () => {
  const refused = policy.logged(({ msg }) => msg === "policy file refused, the old one stays");
  await writeFile(world.policyFile, `${RULES("half")}  - { id: more, efect: allow }\n`);
  await refused;
  const reported = await ok("policy", "versions");
  assert.match(reported, /files of the service are refused/);
  assert.match(reported, /rules\.yaml:\d+:\d+: unknown key "efect"/);
  const follow = await yard(["policy", "activate", "--follow-files"], env);
  assert.equal(follow.code, 1);
  assert.match(follow.stderr, /unknown key "efect"/);
  await writeFile(join(directory, "latin.yaml"), Buffer.from(RULES("gr\u00fcn"), "latin1"));
  const latin = await yard(["policy", "lint", join(directory, "latin.yaml")], env);
  assert.match(latin.stderr, /latin\.yaml is not valid UTF-8/);

  assert.match(await ok("revoke", "key", "misspelt"), /has no such key/);
  await ok("revoke", "key", "misspelt", "--lift");
});

/** `yard approvals watch` in a terminal of its own (`script` makes one), and a person at its keys. */
function startInbox() {
  const main = fileURLToPath(new URL("../../apps/cli/src/main.ts", import.meta.url));
  const command = `'${process.execPath}' '${main}' approvals watch`;
  const child = spawn("/usr/bin/script", ["-qefc", command, "/dev/null"], { env });
  let written = "";
  const take = (chunk: Buffer): void => {
    written += chunk.toString("utf8");
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  let isOver = false;
  const ended = once(child, "close").then(([code]) => {
    isOver = true;
    return code as number | null; // as Node documents
  });
  after(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const screen = (): string => stripVTControlCharacters(written).replaceAll("\r", "");
  let seen = 0;
  return {
    screen,
    ended,
    press: (keys: string) => void child.stdin.write(keys),
    /** Repeats a key as a keyboard does while it is held down, until the returned function has seen so many more presses. */
    hold(key: string) {
      let presses = 0;
      const timer = setInterval(() => {
        presses += 1;
        child.stdin.write(key);
      }, 30);
      return async ({ afterPresses }: { afterPresses: number }): Promise<void> => {
        const last = presses + afterPresses;
        await until(() => presses >= last);
        clearInterval(timer);
      };
    },
    /** Waits for a text behind the previous match. */
    async shows(text: string) {
      const isShown = (): boolean => screen().includes(text, seen);
      await until(() => isShown() || isOver);
      assert.ok(isShown(), `the inbox ended before it showed ${text}:\n${screen()}`);
      seen = screen().indexOf(text, seen) + text.length;
    },
  };
}

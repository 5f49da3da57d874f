import assert from "node:assert/strict";
import { test } from "node:test";
import { eventConsumersOf } from "./event-consumers.ts";
import { isRpc, allContracts } from "@switchyard/contracts/registry";
import { OWN_PERMISSIONS, permissionsOf } from "./nats-permissions.ts";
import { anonymousUser, client, installedUsers, operatorUser } from "./topology.ts";

const team = client("team-a", "A team");
const everyone = [...installedUsers, operatorUser, anonymousUser, team];
const of = (name: string) => {
  const user = everyone.find((candidate) => candidate.name === name);
  assert.ok(user);
  return permissionsOf(user, everyone);
};

test("lets a user publish commands and requests under its own name only", () => {
  for (const user of everyone) {
    for (const subject of permissionsOf(user, everyone).publish) {
      const [, kind, caller] = subject.split(".");
      if (kind === "rpc" || kind === "cmd") assert.equal(caller, user.name, subject);
    }
  }
});

test("gives no user every permission", () => {
  for (const user of everyone) {
    const { publish, subscribe } = permissionsOf(user, everyone);
    for (const subject of [...publish, ...subscribe]) {
      assert.notEqual(subject, ">");
      assert.ok(!subject.startsWith("yard.>"), subject);
      assert.ok(!subject.startsWith("$JS.>") && !subject.startsWith("$JS.API.>"), subject);
      assert.ok(!subject.startsWith("$SYS") || subject === OWN_PERMISSIONS, subject);
    }
  }
});

test("lets a user read its own inbox and no other", () => {
  for (const user of everyone) {
    const inboxes = permissionsOf(user, everyone).subscribe.filter((s) => s.startsWith("_INBOX"));
    assert.deepEqual(inboxes, [`${user.inboxPrefix}.>`]);
  }
});

test("lets only tool providers ask for decisions and only the runner ask for tokens", () => {
  const callers = (subjectEnd: string) =>
    everyone
      .filter((user) => permissionsOf(user, everyone).publish.some((s) => s.endsWith(subjectEnd)))
      .map((user) => user.name);
  assert.deepEqual(callers(".policy.check"), ["broker", "runner", "toolbox"]);
  assert.deepEqual(callers(".policy.grant"), ["runner"]);
  assert.deepEqual(callers(".models.complete"), ["broker"]);
});

test("lets no service decide about approvals, and no client let a call pass", () => {
  const callers = (subjectEnd: string) =>
    everyone.filter((user) =>
      permissionsOf(user, everyone).publish.some((s) => s.endsWith(subjectEnd)),
    );
  for (const verb of ["approvals.approve", "approvals.deny", "grants.revoke"]) {
    const deciding = callers(`.${verb}`);
    assert.ok(deciding.length > 0);
    assert.deepEqual(
      deciding.filter((user) => user.serves.length > 0).map((user) => user.name),
      [],
    );
  }
  for (const verb of ["approvals.admit", "approvals.settle"]) {
    const passing = callers(`.${verb}`);
    assert.ok(passing.length > 0);
    assert.deepEqual(
      passing.filter((user) => user.serves.length === 0).map((user) => user.name),
      [],
    );
  }
});

test("gives teams the tools of MCP servers, and their registry and pins only to the command line and the gateway, for its admins", () => {
  const callers = (verb: string) =>
    everyone
      .filter((user) =>
        permissionsOf(user, everyone).publish.some((s) => s.includes(`.mcp.${verb}`)),
      )
      .map(({ name }) => name);
  for (const verb of ["servers", "get", "add", "update", "connect", "logs", "login.begin"])
    assert.deepEqual(callers(verb), ["gateway", "cli"], verb);
  for (const verb of ["pins.list", "pins.diff", "pins.approve", "pins.block", "refresh"])
    assert.deepEqual(callers(verb), ["gateway", "cli"], verb);
  for (const verb of ["tools", "call.", "questions"])
    assert.ok(
      ["cli", "me", "team-a"].every((name) => callers(verb).includes(name)),
      verb,
    );
});

test("lets a service answer its callers and no other user", () => {
  assert.deepEqual(
    of("policy").publish.filter((subject) => subject.startsWith("_INBOX_broker")),
    ["_INBOX_broker.>"],
  );
  assert.equal(of("toolbox").publish.includes("_INBOX_policy.>"), false);
  assert.equal(of("importer").publish.includes("_INBOX_broker.>"), false);
});

test("has an owner that serves each rpc, in a queue group", () => {
  for (const contract of allContracts.filter(isRpc)) {
    const servers = everyone.filter((user) => user.serves.some((s) => s.name === contract.name));
    assert.equal(servers.length, 1, contract.name);
  }
  assert.ok(of("policy").subscribe.includes("yard.rpc.*.policy.check policy"));
});

test("lets only the runner take from its queue, with both shapes of the ack", () => {
  const runner = of("runner").publish;
  assert.ok(runner.includes("$JS.API.CONSUMER.MSG.NEXT.YARD_COMMANDS.agent-runner"));
  assert.ok(runner.includes("$JS.ACK.YARD_COMMANDS.agent-runner.>"));
  assert.ok(runner.includes("$JS.ACK.*.*.YARD_COMMANDS.agent-runner.>"));
  const others = everyone.filter((user) => user.name !== "runner");
  for (const user of others) {
    const taking = permissionsOf(user, everyone).publish.filter((s) =>
      s.includes("MSG.NEXT.YARD_COMMANDS.agent-runner"),
    );
    assert.deepEqual(taking, [], user.name);
  }
});

test("lets only the admin create a consumer on the payload bucket", () => {
  // A push consumer would deliver bytes that its maker stored to any subject, past every permission.
  for (const user of everyone) {
    const { publish } = permissionsOf(user, everyone);
    const creating = publish.filter((s) => s.includes("CONSUMER.CREATE.OBJ_"));
    assert.deepEqual(creating, [], user.name);
  }
});

test("gives a team consumers of events by its own names alone, and no look at the stream", () => {
  const about = of("team-a").publish.filter((subject) => /YARD_EVENTS/.test(subject));
  const names = about.map((subject) => /\.YARD_EVENTS\.([^.]+)/.exec(subject)?.[1] ?? subject);
  assert.deepEqual(new Set(names), new Set(eventConsumersOf("team-a")));
  const others = eventConsumersOf("team-a-1");
  assert.deepEqual(
    eventConsumersOf("team-a").filter((name) => others.includes(name)),
    [],
  );
});

test("gives a client without credentials its own live messages alone, and those who run the installation all of them", () => {
  const live = (name: string) =>
    of(name).subscribe.filter((subject) => subject.startsWith("yard.live."));
  assert.deepEqual(live("me"), ["yard.live.mcp.me.>", "yard.live.run.me.>"]);
  assert.deepEqual(live("team-a"), ["yard.live.mcp.team-a.>", "yard.live.run.team-a.>"]);
  for (const name of ["cli", "gateway"]) assert.deepEqual(live(name), ["yard.live.>"], name);
});

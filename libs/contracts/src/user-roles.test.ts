import assert from "node:assert/strict";
import { test } from "node:test";
import { allContracts, isCommand, isRpc } from "./registry.ts";
import { GATEWAY_USER } from "./user-names.ts";
import { refusalOf, UserRole } from "./user-roles.ts";
import { serviceUsers } from "@switchyard/topology/topology";

const usable = allContracts.filter((contract) => isRpc(contract) || isCommand(contract));

/**
 * Contracts between services, for the command line on NATS alone, or trusted because no other user may send them. A new contract is either
 * here or has a role.
 */
const FOR_SERVICES = [
  "approval.expire",
  "approvals.admit",
  "approvals.decide-in-chat",
  "approvals.for-chats",
  "approvals.settle",
  "channels.hooks",
  "channels.last",
  "channels.login",
  "channels.open-decision",
  "channels.receive",
  "chat-links.claim",
  "files.deliver",
  "mcp.answer-for-user",
  "mcp.cancel-at",
  "mcp.owner",
  "mcp.questions-for-chats",
  "models.complete",
  "policy.check",
  "policy.filter",
  "policy.grant",
  "policy.release",
  "policy.user-session.close",
  "policy.user-session.open",
  "policy.user-token.act-for",
  "policy.user-token.issue",
  "policy.user-token.issuers",
  "policy.user-token.verify",
  "questions.answer-in-chat",
  "questions.for-chats",
  "run.begin",
  "run.proceed",
  "run.spawn",
  "runner.restart",
  "runs.agent",
  "runs.answer-for-user",
  "runs.call-context",
  "runs.questions-for-chats",
  "scheduler.restart",
  "sessions.deliver",
  "sessions.note",
  "sessions.outcome",
  "toolbox.cancel-at",
  "toolbox.recall",
];

test("every request and command has a role, or is not for people over HTTP", () => {
  const without = usable.filter(({ role }) => role === null).map(({ name }) => name);
  assert.deepEqual(without.toSorted(), FOR_SERVICES);
});

test("the gateway may send what has a role, and beside that request only who its users and issuers are, hand over what providers send, find the agents of old runs, and record what was done", () => {
  const gateway = serviceUsers.find(({ name }) => name === GATEWAY_USER);
  const sent = [...(gateway?.calls ?? []), ...(gateway?.publishes ?? [])].map(({ name }) => name);
  const withRole = usable.filter(({ role }) => role !== null).map(({ name }) => name);
  const own = ["user-token.issue", "user-token.issuers", "user-session.open", "user-session.close"];
  assert.deepEqual(
    sent.toSorted(),
    [
      ...withRole,
      ...own.map((name) => `policy.${name}`),
      "channels.receive",
      "channels.hooks",
      "channels.open-decision",
      "runs.agent",
      "audit.access",
      "audit.chain",
    ].toSorted(),
  );
});

test("a role includes what it says and no more, and a scope only narrows", () => {
  const allowed = (role: UserRole) =>
    UserRole.options.filter(
      (needed) => refusalOf({ name: "x.y", role: needed }, { roles: [role] }) === null,
    );
  assert.deepEqual(allowed("viewer"), ["viewer"]);
  assert.deepEqual(allowed("operator"), ["viewer", "operator"]);
  assert.deepEqual(allowed("approver"), ["viewer", "approver"]);
  assert.deepEqual(allowed("admin"), UserRole.options);
  const scoped = (name: string) =>
    refusalOf({ name, role: "viewer" }, { roles: ["admin"], scopes: ["runs.*"] });
  assert.equal(scoped("runs.get"), null);
  assert.match(scoped("policy.stop") ?? "", /outside the scopes/);
  const ofRuns = (name: string) =>
    refusalOf({ name, role: "viewer" }, { roles: ["viewer"], scopes: ["runs.get"] });
  assert.equal(ofRuns("runs.events"), null, "the events of a run come with it");
  assert.match(ofRuns("runs.list") ?? "", /outside the scopes/);
  assert.match(
    refusalOf({ name: "policy.grant", role: null }, { roles: ["admin"] }) ?? "",
    /not for people/,
  );
  assert.match(
    refusalOf({ name: "x.y", role: "viewer" }, { roles: [], scopes: [] }) ?? "",
    /has none/,
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { serve } from "@switchyard/bus/serve";
import { testBus } from "@switchyard/testing/test-bus";
import { getApproval } from "@switchyard/contracts/policy/approvals";
import { listGrants, revokeGrant } from "@switchyard/contracts/policy/session-grants";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { yard, yardEnvironment } from "../../test-fixtures/yard-process.ts";

const nats = await testNats();
const env = { ...yardEnvironment(await testDirectory()), YARD_NATS_URL: nats.url };
const bus = await testBus(nats, "policy");
const service = serve(bus, {
  name: "policy",
  version: "0.0.0",
  description: "A policy that nobody waits for",
  onFault: ({ error }) => assert.fail(String(error)),
});
service.handle(getApproval, ({ id }, { fail }) => {
  throw fail.unknown_approval(`There is no approval ${id}.`, { id });
});
service.handle(revokeGrant, ({ id }, { fail }) => {
  throw fail.unknown_grant(`There is no grant ${id}.`, { id });
});
service.handle(listGrants, () => ({ grants: [], next: null }));
await bus.flush();

test("what narrows a session approval is not left out of an approval for once", async () => {
  const id = `apr-${"0".repeat(32)}`;
  for (const option of [
    ["--ttl", "5"],
    ["--uses", "3"],
    ["--same", "/path"],
  ]) {
    const { code, stderr } = await yard(["approvals", "approve", id, ...option], env);
    assert.equal(code, 2, option.join(" "));
    assert.match(stderr, /go only with --session/);
  }
});

test("the beginning of a standing approval is looked for among those in force", async () => {
  for (const beginning of ["grt-0123456…", "0123456"]) {
    const { code, stderr } = await yard(["grants", "revoke", beginning], env);
    assert.equal(code, 3, stderr);
    assert.match(stderr, /no standing approval begins with/);
  }
});

test("an unknown or malformed id of an approval or a grant is reported with where to look", async () => {
  const zeros = "0".repeat(32);
  const cases = [
    { args: ["approvals", "show", `apr-${zeros}`], code: 3, hint: "./yard approvals list" },
    { args: ["grants", "revoke", `grt-${zeros}`], code: 3, hint: "./yard grants list" },
    { args: ["approvals", "show", "nope"], code: 2, hint: "./yard approvals list" },
    { args: ["approvals", "approve", "nope"], code: 2, hint: "./yard approvals list" },
    { args: ["approvals", "deny", "nope"], code: 2, hint: "./yard approvals list" },
    { args: ["approvals", "cancel", "nope"], code: 2, hint: "./yard approvals list" },
    { args: ["approvals", "list", "--run", "a b"], code: 2, hint: "./yard runs list" },
    { args: ["grants", "revoke", "nope"], code: 2, hint: "./yard grants list" },
  ];
  for (const { args, code, hint } of cases) {
    const ended = await yard(args, env);
    assert.equal(ended.code, code, args.join(" "));
    assert.ok(ended.stderr.includes(`→ see`) && ended.stderr.includes(hint), ended.stderr);
  }
});

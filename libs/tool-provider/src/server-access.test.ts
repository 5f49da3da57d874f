import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Decision, Principal } from "@switchyard/contracts/policy/policy";
import { mayUseServer, narrowByRoles } from "./server-access.ts";

const run: Principal = { user: "cli", agent: "demo", runId: "r1", roles: ["reader"] };
const person: Principal = { user: "cli", agent: null, runId: null };
const allowed: Decision = {
  effect: "allow",
  rule: "all",
  reason: "test",
  policyDigest: `sha256:${"0".repeat(64)}`,
};

test("an agent needs one of the server's roles; without roles the server is everybody's [A7, AR3]", () => {
  assert.equal(mayUseServer(null, run), true);
  assert.equal(mayUseServer(["writer", "reader"], run), true);
  assert.equal(mayUseServer(["writer"], run), false);
  assert.equal(mayUseServer(["writer"], { user: "cli", agent: "demo", runId: "r1" }), false);
  assert.equal(mayUseServer(["writer"], person), true);
});

test("the denial names the missing roles and where they are defined [A7]", () => {
  const decision = narrowByRoles(
    { decision: allowed, principal: run },
    { server: "git", roles: ["writer"] },
  );
  assert.equal(decision.effect, "deny");
  assert.match(decision.reason, /server git is kept for .* writer; agent demo has only reader/);
});

test("roles never turn a denied call into an allowed one", () => {
  const roles = fc.option(fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1 }));
  const own = fc.array(fc.constantFrom("a", "b", "c"));
  fc.assert(
    fc.property(roles, own, fc.constantFrom("allow", "deny"), (server, agent, effect) => {
      const before: Decision = { ...allowed, effect };
      const principal = { ...run, roles: agent };
      const after = narrowByRoles({ decision: before, principal }, { server: "s", roles: server });
      const passes = server === null || agent.some((role) => server.includes(role));
      assert.equal(after.effect, effect === "allow" && passes ? "allow" : "deny");
    }),
  );
});

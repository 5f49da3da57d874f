import assert from "node:assert/strict";
import { after, test } from "node:test";
import { failuresOf } from "@switchyard/contracts/errors";
import { grantRun } from "@switchyard/contracts/policy/policy-grants";
import { requestCancel, startRun } from "@switchyard/contracts/agent-runner/runs";
import { runCommands } from "@switchyard/topology/streams";
import type { UserRole } from "@switchyard/contracts/user-roles";
import { verifyUserToken } from "@switchyard/contracts/policy/user-tokens";
import { testBus } from "@switchyard/testing/test-bus";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { call } from "./call.ts";
import { consume } from "./consume.ts";
import { NO_DELEGATION } from "./delegation.ts";
import type { Delivery } from "./delivery.ts";
import { publishCommand } from "./publish.ts";
import { serve } from "./serve.ts";
import { ensureStreams } from "./streams.ts";
import { testUsers } from "@switchyard/testing/test-users";

const users = testUsers(["team-a"]);
const nats = await testNats({ authorization: users.authorization });
const [admin, policy, runner, gateway, team] = await Promise.all(
  ["admin", "policy", "runner", "gateway", "team-a"].map((name) => users.connect(nats, name)),
);
assert.ok(admin && policy && runner && gateway && team);
await ensureStreams(admin);

const onFault = ({ error }: { error: unknown }): void => assert.fail(String(error));
const about = { version: "0.1.0", description: "", onFault };
const fail = failuresOf(verifyUserToken.errors);
const asked: { token: string; storedAt?: number | undefined }[] = [];

/** Tokens of this test are `caller/role` or `old/role`, which expired a second before it is verified without a time. */
async function servePolicy(): Promise<void> {
  assert.ok(policy);
  const service = serve(policy, { name: "policy", ...about });
  service.handle(verifyUserToken, ({ token, storedAt }) => {
    asked.push({ token, storedAt });
    const [caller = "", role] = token.split("/");
    if (role !== "viewer" && role !== "operator")
      throw fail.invalid_token("forged", { reason: "signature" });
    const endsIn = caller === "old" ? -1_000 : 60_000;
    if (endsIn < 0 && storedAt === undefined)
      throw fail.invalid_token("too old", { reason: "expired" });
    const expiresAt = new Date(Date.now() + endsIn).toISOString();
    const roles = [role as UserRole]; // checked above
    return { caller, roles, credential: "key-0", expiresAt };
  });
  await policy.flush();
}

const seen: { caller: string; roles: readonly string[] }[] = [];
const runs = serve(runner, { name: "runner", ...about });
runs.handle(requestCancel, (_request, { caller, roles }) => {
  seen.push({ caller, roles });
  return { outcome: "requested" as const };
});
await runner.flush();
const request = { runId: "r1" };
const cancel = (bus: typeof team, userToken?: string) =>
  call(bus ?? assert.fail(), requestCancel, request, userToken === undefined ? {} : { userToken });

test("while no service verifies tokens, the gateway is refused and does not act as itself", async () => {
  await assert.rejects(cancel(gateway, "alice/operator"), { code: "overloaded", retryable: true });
  assert.deepEqual(seen, []);
});

test("the gateway's caller is the one of its user token, and a token of any other sender is refused", async () => {
  await servePolicy();
  await cancel(gateway, "alice/operator");
  await cancel(team);
  assert.deepEqual(seen, [
    { caller: "alice", roles: ["operator"] },
    { caller: "team-a", roles: [] },
  ]);
  const refused = { code: "forbidden" };
  await assert.rejects(cancel(gateway), refused, "without a token");
  await assert.rejects(cancel(gateway, "alice/forged"), refused);
  await assert.rejects(cancel(gateway, "alice/viewer"), /needs the role operator/);
  await assert.rejects(cancel(gateway, "old/operator"), refused);
  await assert.rejects(cancel(team, "cli/operator"), /only gateway and toolbox may send Yard-User/);
  assert.equal(seen.length, 2);
});

test("a token is verified once by each service, and the server lets the gateway ask nothing that has no role", async () => {
  asked.length = 0;
  await Promise.all([cancel(gateway, "bob/operator"), cancel(gateway, "alice/operator")]);
  await cancel(gateway, "bob/operator");
  assert.deepEqual(asked, [{ token: "bob/operator", storedAt: undefined }]);
  const asking = { runId: "r1", agent: "demo", requester: "cli", tools: [], ttlSeconds: 60 };
  await assert.rejects(call(gateway, grantRun, asking), { code: "forbidden" });
  await assert.rejects(call(gateway, verifyUserToken, { token: "x" }), { code: "forbidden" });
});

test("a command is of the caller in its user token, which had to be good when it was stored", async () => {
  // A command that is taken before its turn is delivered again.
  const deliveries = new Map<string, Delivery>();
  const consumption = consume(runner, {
    consumer: runCommands,
    commands: [startRun],
    concurrency: 1,
    handle: (delivery) => {
      deliveries.set(inputOf(delivery), delivery);
      return Promise.resolve({ outcome: "done" });
    },
    onFault,
  });
  after(() => consumption.stop(0));
  const start = (bus: typeof team, input: string, userToken?: string) =>
    publishCommand(bus ?? assert.fail(), startRun, { agent: "demo" }, { input }, { userToken });
  await start(gateway, "of alice", "alice/operator");
  await start(gateway, "waited", "old/operator");
  await start(gateway, "forged", "alice/forged");
  await start(gateway, "of a viewer", "alice/viewer");
  await start(gateway, "of nobody");
  await start(team, "as cli", "cli/operator");
  await start(team, "of the team");
  await until(() => Promise.resolve(deliveries.size === 7));
  const found = [...deliveries.values()]
    .map((delivery) => `${inputOf(delivery)}: ${delivery.kind} ${delivery.caller}`)
    .toSorted();
  assert.deepEqual(found, [
    "as cli: rejected team-a",
    "forged: rejected gateway",
    "of a viewer: rejected gateway",
    "of alice: command alice",
    "of nobody: rejected gateway",
    "of the team: command team-a",
    "waited: command old",
  ]);
});

function inputOf({ payload }: Delivery): string {
  return (payload as { input: string }).input; // what this test sends
}

test("a bus that was opened without a delegation refuses every user token", async () => {
  const plain = await testNats();
  const [owner, sender] = await Promise.all([
    testBus(plain, "runner", { delegation: NO_DELEGATION }),
    testBus(plain, "gateway"),
  ]);
  const service = serve(owner, { name: "runner", ...about });
  service.handle(requestCancel, () => assert.fail("the request was handled"));
  await owner.flush();
  await assert.rejects(cancel(sender, "alice/operator"), /accepts no Yard-User/);
});

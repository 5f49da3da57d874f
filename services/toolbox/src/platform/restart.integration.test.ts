import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connectBus } from "@switchyard/bus/connect";
import { DELEGATION } from "@switchyard/contracts/delegation";
import { serve, type Service } from "@switchyard/bus/serve";
import { restartRunner, restartScheduler } from "@switchyard/contracts/restarts";
import { getSession, sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import { actForUser } from "@switchyard/contracts/policy/user-tokens";
import { until } from "@switchyard/local-servers/until";
import { serveRestart } from "@switchyard/service/serve-restart";
import { toolboxWorld } from "../../test-fixtures/test-toolbox.ts";

type Data = Record<string, unknown>;

const world = await toolboxWorld();
await world.start({ YARD_RESTARTS: "1" });
const onFault = ({ error }: { error: unknown }): void => assert.fail(String(error));
const [runner, scheduler, policy] = await Promise.all(
  ["runner", "scheduler", "policy"].map((user) =>
    connectBus({ delegation: DELEGATION, servers: world.natsUrl, user }),
  ),
);
assert.ok(runner && scheduler && policy);
after(() => Promise.all([runner, scheduler, policy].map((bus) => bus.close())));

const about = { version: "0.0.1", description: "", onFault };
/** The messages sent to sessions. */
const reported: { session: string | undefined; message: string }[] = [];
const verifyUser = () =>
  Promise.resolve({
    caller: "cli",
    roles: ["operator" as const],
    credential: "test",
    expiresAt: new Date(Date.now() + 60_000).toISOString(),
  });
const sessions = serve(runner, { ...about, name: "runner", verifyUser });
sessions.handle(sendToSession, ({ session, message }) => {
  reported.push({ session, message });
  const sessionId = `ses-${"0".repeat(26)}-1`;
  const sessionKey = session ?? "";
  return {
    status: "accepted" as const,
    sessionId,
    sessionKey,
    runId: "cli~r",
    placed: "started" as const,
  };
});
sessions.handle(getSession, ({ session }, { fail }) => {
  throw fail.unknown_session("there is none", { session });
});
const tokens = serve(policy, { ...about, name: "policy" });
tokens.handle(actForUser, () => ({
  token: "token",
  expiresAt: new Date(Date.now() + 60_000).toISOString(),
}));
await Promise.all([runner.flush(), policy.flush()]);

/** Fake processes of the scheduler: each ends and is started again after the given time; null: never. */
const running: Service[] = [];
let mostAtOnce = 0;
let gone = 0;
function start(comesBackAfterMs: number | null): void {
  const service = serve(scheduler as NonNullable<typeof scheduler>, {
    ...about,
    name: "scheduler",
  });
  running.push(service);
  serveRestart(service, restartScheduler, () => {
    gone += 1;
    mostAtOnce = Math.max(mostAtOnce, gone);
    void service.drain();
    running.splice(running.indexOf(service), 1);
    if (comesBackAfterMs === null) return;
    setTimeout(() => {
      gone -= 1;
      start(comesBackAfterMs);
    }, comesBackAfterMs);
  });
}
async function only(count: number, comesBackAfterMs: number | null): Promise<void> {
  await Promise.all(running.splice(0).map((service) => service.drain()));
  gone = 0;
  mostAtOnce = 0;
  for (let index = 0; index < count; index += 1) start(comesBackAfterMs);
  await scheduler?.flush();
}

const restart = (args: Data = {}, timeoutMs = 30_000) =>
  world.call({ tool: "gateway_restart", args: { service: "scheduler", ...args } }, { timeoutMs });

test("processes are restarted one after the other, and the reply comes when they are ready again [F30]", async () => {
  await only(3, 200);
  const { isError, text, structuredContent } = await restart();
  assert.equal(isError, false, text);
  const { restarted, processes } = structuredContent as Data;
  assert.deepEqual([restarted, processes], [true, 3]);
  assert.equal(mostAtOnce, 1);
  assert.equal(running.length, 3);
  assert.deepEqual(reported, []);
});

test("the result of a restart that outlasts the call is sent to the session afterwards, with the continuation [F30]", async () => {
  await only(1, 4_000);
  const { structuredContent } = await restart(
    {
      sessionKey: "agent:helper:main",
      continuationMessage: "Now try the new trigger.",
      reason: "new trigger",
      note: "soon",
    },
    3_500,
  );
  assert.deepEqual(
    [(structuredContent as Data)["restarted"], (structuredContent as Data)["underWay"]],
    [false, true],
  );
  await until(
    () => reported,
    (all) => all.length === 1,
  );
  assert.equal(reported[0]?.session, "agent:helper:main");
  assert.match(
    reported[0]?.message ?? "",
    /^\[gateway_restart\] scheduler was restarted and is ready \(1 process, .*\)\.\nReason: new trigger\nNote: soon\nNow try the new trigger\.$/,
  );
});

test("a restart that is wanted later begins then, has the same result, and waits a minute at most [F30]", async () => {
  await only(1, 50);
  const startedAt = performance.now();
  const { structuredContent, text } = await restart({ delayMs: 700 });
  assert.ok(performance.now() - startedAt >= 700, text);
  const result = structuredContent as Data;
  assert.deepEqual([result["restarted"], result["processes"]], [true, 1]);
  const later = await restart({ delayMs: 1_500, sessionKey: "agent:helper:main" }, 2_500);
  assert.match(later.text, /is restarted 1500 ms after the call; the result comes as a message in/);
  assert.deepEqual(gone, 0, "nothing is restarted before");
  const before = reported.length;
  await until(() => reported.length > before);
  assert.match(reported.at(-1)?.message ?? "", /scheduler was restarted and is ready/);
  for (const delayMs of [-1, 60_001])
    await assert.rejects(restart({ delayMs }), /delayMs: must be at (?:least|most)/);
});

test("a restart of no process, of a protected service, and a message for no session are refused", async () => {
  await only(0, null);
  assert.match((await restart()).text, /No scheduler answers/);
  assert.match((await restart({ continuationMessage: "go on" })).text, /needs sessionKey/);
  serveRestart(sessions, restartRunner, null);
  await runner.flush();
  assert.match(
    (await restart({ service: "runner" })).text,
    /Gateway restart is disabled \(commands\.restart=false\)\. Nothing was restarted: .*YARD_RESTARTS/,
  );
});

test("without a service everything is restarted that the operator permits, and the reason is in the result [F30]", async () => {
  await only(1, 50);
  const said = { reason: "new model", note: "asked by Ann" };
  const { isError, text, structuredContent } = await restart({ service: undefined, ...said });
  assert.equal(isError, false, text);
  const { ok, services, requested } = structuredContent as Data;
  const rows = (services as Data[]).map(({ service, restarted, error = "" }) => [
    service,
    restarted,
    /Gateway restart is disabled/.test(String(error)),
  ]);
  assert.deepEqual(rows, [
    ["runner", false, true],
    ["scheduler", true, false],
  ]);
  assert.deepEqual([ok, requested], [false, said]);
});

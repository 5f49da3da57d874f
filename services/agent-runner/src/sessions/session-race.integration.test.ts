import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { deliverToSession } from "@switchyard/contracts/agent-runner/session-delivery";
import {
  getSession,
  listSessions,
  sendToSession,
  sessionHistory,
} from "@switchyard/contracts/agent-runner/sessions";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { until } from "@switchyard/local-servers/until";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { services } = lab;
const SESSIONS = ["left", "right"];
const MESSAGES = 4;

/** The runs that are inside their tool call now, by session, and the highest number so far. */
const inside = new Map<string, number>();
const most = new Map<string, number>();
services.tools.set("solo", async ({ session }) => {
  const name = String(session);
  const now = (inside.get(name) ?? 0) + 1;
  inside.set(name, now);
  most.set(name, Math.max(most.get(name) ?? 0, now));
  await new Promise((resolve) => setImmediate(resolve));
  inside.set(name, now - 1);
  return "out";
});
const given = { session: { $from: "/input/session" } };
const steps = [1, 2, 3].map(() => ({ calls: [{ tool: labTool("solo"), with: given }] }));
services.agents.set("solo", agent("solo", { plan: { steps, answer: "{{/input/n}}" } }));

await Promise.all([lab.runner(), lab.runner()]);

test("two messages of one session are never worked on at once, however many runners there are", async () => {
  await Promise.all(
    SESSIONS.flatMap((session) =>
      Array.from({ length: MESSAGES }, (_, n) => {
        const input = { session, n: String(n) };
        return lab.command("solo", { runId: `${session}-${n}`, session, input });
      }),
    ),
  );
  for (const session of SESSIONS) {
    await until(async () => {
      const known = await call(lab.bus, getSession, { session }).catch(() => null); // not begun yet
      return known?.session.messages === MESSAGES * 5;
    });
    const { messages } = await call(lab.bus, sessionHistory, { session, limit: 1_000 });
    const answered = messages.flatMap(({ role, text }) => (role === "assistant" ? [text] : []));
    assert.deepEqual(
      answered.toSorted(),
      Array.from({ length: MESSAGES }, (_, n) => String(n)),
    );
    // Each answer follows its own question.
    assert.deepEqual(
      messages.map(({ role }) => role),
      answered.flatMap(() => ["user", "assistant"]),
    );
    assert.ok(messages.every(({ runId }, at) => at % 2 === 0 || messages[at - 1]?.runId === runId));
    assert.equal(most.get(session), 1);
  }
  // The other session need not wait.
  assert.deepEqual([...inside.values()], [0, 0]);
});

test("of many senders that begin one session at once, all are in the same one", async () => {
  // The first run is under way until all messages are placed.
  const placed = Promise.withResolvers<void>();
  services.tools.set("hold", async () => {
    await placed.promise;
    return "out";
  });
  const plan = { steps: [{ calls: [{ tool: labTool("hold"), with: {} }] }], answer: "done" };
  services.agents.set("held", agent("held", { plan }));
  const sent = await Promise.all(
    Array.from({ length: 6 }, (_, n) => {
      const runId = `same-${n}`;
      const asked = { session: "same", agent: "held", message: `m${n}`, runId };
      return call(lab.bus, sendToSession, asked, { timeoutMs: 30_000 });
    }),
  );
  assert.equal(new Set(sent.map(({ sessionId }) => sessionId)).size, 1);
  placed.resolve();
  assert.equal(sent.filter((one) => one.placed === "started").length, 1);
  await until(async () => {
    const { session } = await call(lab.bus, getSession, { session: "same" });
    return session.activeRun === null;
  });
});

test("a message that is delivered again while its run ends is in the history once", async () => {
  const channels = await connectBus({ servers: lab.nats.url, user: "channels" });
  after(() => channels.close());
  const bring = async (n: number, again: number): Promise<void> => {
    await delay(again);
    await call(channels, deliverToSession, {
      owner: "cli",
      session: `brought-${n}`,
      agent: "brief",
      message: `m${n}`,
      runId: `brought-${n}`,
    });
  };
  services.agents.set("brief", agent("brief", { plan: { steps: [], answer: "{{/input}}" } }));
  const numbers = Array.from({ length: 12 }, (_, n) => n);
  for (const n of numbers)
    await Promise.all(Array.from({ length: 25 }, (_, again) => bring(n, again)));
  await until(async () => {
    const { sessions } = await call(lab.bus, listSessions, { limit: 200 });
    const brought = sessions.filter(({ key }) => key.startsWith("brought-"));
    return (
      brought.length === numbers.length && brought.every(({ activeRun }) => activeRun === null)
    );
  });
  for (const n of numbers) {
    const asked = { session: `brought-${n}`, limit: 100 };
    const { messages } = await call(lab.bus, sessionHistory, asked);
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["user", "assistant"],
      `brought-${n}`,
    );
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "./log.ts";
import { Shutdown } from "./shutdown.ts";
import { StopSteps } from "./stop-steps.ts";

test("logs that it stops before the first step, then undoes the steps in reverse order and exits 0", async () => {
  const { shutdown, steps, events, exited } = fixture();
  for (const name of ["health", "redis", "bus"]) {
    steps.push(name, async () => {
      events.push(`${name} begins`);
      await Promise.resolve();
      events.push(`${name} ends`);
    });
  }
  assert.equal(shutdown.stopping, false);
  shutdown.begin("SIGTERM");
  assert.equal(shutdown.stopping, true);
  assert.equal(await exited, 0);
  assert.deepEqual(events, [
    "not ready",
    "bus begins",
    "bus ends",
    "redis begins",
    "redis ends",
    "health begins",
    "health ends",
    "exit 0",
  ]);
});

test("continues after a step that fails, and exits 1", async () => {
  const { shutdown, steps, events, exited, logged } = fixture();
  steps.push("first", async () => void events.push("first"));
  steps.push("second", async () => {
    throw new Error("will not stop");
  });
  shutdown.begin("SIGTERM");
  assert.equal(await exited, 1);
  assert.deepEqual(events, ["not ready", "first", "exit 1"]);
  assert.ok(
    logged().some((line) => line["msg"] === "stop step failed" && line["step"] === "second"),
  );
});

test("exits with the requested code, unless something fails on the way", async () => {
  const well = fixture();
  well.shutdown.begin("restart requested", 75);
  well.shutdown.begin("SIGTERM");
  assert.equal(await well.exited, 75);
  const badly = fixture();
  badly.steps.push("first", () => Promise.reject(new Error("will not stop")));
  badly.shutdown.begin("restart requested", 75);
  assert.equal(await badly.exited, 1);
});

test("exits 1 at the deadline and names the step it waited for", async () => {
  const { shutdown, steps, exited, logged } = fixture({ drainMs: 20 });
  steps.push("stuck", () => new Promise(() => {}));
  shutdown.begin("SIGTERM");
  assert.equal(await exited, 1);
  assert.ok(logged().some((line) => line["step"] === "stuck" && line["level"] === "error"));
});

test("names the part of a step that it waited for", async () => {
  const { shutdown, steps, exited, logged } = fixture({ drainMs: 20 });
  steps.push(
    "policy",
    () => new Promise(() => {}),
    () => "bus",
  );
  shutdown.begin("SIGTERM");
  assert.equal(await exited, 1);
  assert.ok(logged().some((line) => line["step"] === "policy: bus"));
});

test("undoes at once a step that is pushed after the stop", async () => {
  const { shutdown, steps, events, exited } = fixture();
  shutdown.begin("SIGTERM");
  await exited;
  steps.push("late", async () => void events.push("late"));
  assert.deepEqual(events, ["not ready", "exit 0", "late"]);
});

test("gives each step what is left of the budget", async () => {
  const { shutdown, steps, exited } = fixture({ drainMs: 10_000 });
  const budgets: number[] = [];
  for (const name of ["a", "b"])
    steps.push(name, async (remainingMs) => void budgets.push(remainingMs));
  shutdown.begin("SIGTERM");
  await exited;
  const [first = 0, second = 0] = budgets;
  assert.ok(first <= 10_000 && first > 0 && second <= first && second > 0);
});

test("exits 1 at once on a second signal", async () => {
  const { shutdown, steps, exited } = fixture();
  steps.push("stuck", () => new Promise(() => {}));
  shutdown.signal("SIGTERM");
  shutdown.signal("SIGINT");
  assert.equal(await exited, 1);
});

test("does not take the loss of the parent for a second signal", async () => {
  const { shutdown, steps, events, exited } = fixture();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  steps.push("slow", () => released);
  shutdown.signal("SIGTERM");
  shutdown.begin("parent gone");
  release();
  assert.equal(await exited, 0);
  assert.deepEqual(events, ["not ready", "exit 0"]);
});

test("exits 1 after a fault, also when the stop was under way", async () => {
  const first = fixture();
  first.shutdown.beginAfterFault("uncaughtException");
  assert.equal(await first.exited, 1);

  const second = fixture();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  second.steps.push("slow", () => released);
  second.shutdown.begin("SIGTERM");
  second.shutdown.beginAfterFault("uncaughtException");
  release();
  assert.equal(await second.exited, 1);
});

test("undoes a step that was pushed while the stop runs", async () => {
  const { shutdown, steps, events, exited } = fixture();
  steps.push("first", async () => {
    steps.push("late", async () => void events.push("late"));
  });
  shutdown.begin("SIGTERM");
  await exited;
  assert.deepEqual(events, ["not ready", "late", "exit 0"]);
});

function fixture(options: { drainMs?: number } = {}) {
  const events: string[] = [];
  const lines: string[] = [];
  const { promise: exited, resolve } = Promise.withResolvers<number>();
  const log = createLog({
    service: "test",
    level: "info",
    destination: { write: (line) => void lines.push(line) },
  });
  const steps = new StopSteps(log);
  const shutdown = new Shutdown({
    log,
    steps,
    drainMs: options.drainMs ?? 60_000,
    onBegin: () => void events.push("not ready"),
    exit: (code) => {
      events.push(`exit ${code}`);
      resolve(code);
    },
  });
  const logged = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>); // log lines are objects
  return { shutdown, steps, events, exited, logged };
}

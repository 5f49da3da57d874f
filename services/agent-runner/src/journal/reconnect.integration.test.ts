import { connectBus } from "@switchyard/bus/connect";
import { placeOf, type EventPlace } from "@switchyard/bus/event-place";
import { readEvents } from "@switchyard/bus/events";
import type { ReadEventsOptions } from "@switchyard/bus/stored-event";
import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
await lab.runner();
const RECONNECTS = 20;

test("a client that reconnects 20 times by the last event reads each event once, in order [run-goal-8]", async () => {
  let count = 0;
  lab.services.tools.set("next", () => `${(count += 1)}`);
  const repeat = { while: { at: "/last/isError", equals: false }, times: 30 };
  const calls = [{ tool: labTool("next"), with: {}, as: "last" }];
  const plan = { steps: [{ calls, repeat }], answer: "done" };
  lab.services.agents.set("walker", agent("walker", { maxSteps: 31, plan }));
  const read: unknown[] = [];
  let last: EventPlace | null = null;
  let isOver = false;
  await lab.command("walker", { runId: "watched", input: "x" });
  for (let connection = 0; connection <= RECONNECTS; connection += 1) {
    const bus = await connectBus({ servers: lab.nats.url, user: "cli" });
    // A different number of events each time, sometimes none; the last connection reads to the end.
    let left = connection === RECONNECTS ? Infinity : (connection * 7) % 6;
    const filters = ["yard.evt.run.cli.watched.*"];
    const from: ReadEventsOptions["from"] = last === null ? "beginning" : { after: last };
    if (left > 0)
      for await (const event of readEvents(bus, { filters, from })) {
        last = placeOf(event);
        read.push((event.payload as { seq: number }).seq); // every event of a run has one
        isOver = event.subject.endsWith(".finished");
        left -= 1;
        if (isOver || left === 0) break;
      }
    await bus.close();
  }
  assert.ok(isOver && read.length > 90, String(read.length));
  assert.deepEqual(
    read,
    read.map((_, index) => index + 1),
  );
});

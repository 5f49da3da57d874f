import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delivery } from "@switchyard/bus/delivery";
import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import {
  Crash,
  dyingAt,
  hintDelivery,
  mortalRunners,
  startDelivery,
} from "../../test-fixtures/mortal-runners.ts";
import { answering } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { openDeadLetters, findLetter, redrive } from "../commands/dead-letters.ts";
import { openDeferredCommands } from "../journal/deferred-commands.ts";
import { openParkedRuns } from "../journal/parked-runs.ts";

const lab = await startLab();
/** With a hold of 0 ms, the run of a dead runner can be claimed at once; the third delivery gives up. */
const mortal = await mortalRunners(lab, { holdMs: 0, maxAttempts: 2 });
const { redis } = mortal;
const parts = {
  letters: openDeadLetters(redis),
  kept: openDeferredCommands(redis),
  parked: openParkedRuns(redis),
  now: Date.now,
};
lab.services.agents.set("fragile", answering("fragile", "reached"));
let sequence = 0;

/** Two runners die of a message, and the next one reports that it is given up. */
async function givenUp(deliveryOf: (deliveryCount: number) => Delivery): Promise<void> {
  for (const deliveryCount of [1, 2])
    await assert.rejects(mortal.worker(dyingAt(1)).handle(deliveryOf(deliveryCount)), Crash);
  const outcome = await mortal.worker(dyingAt(null)).handle(deliveryOf(3));
  assert.deepEqual(outcome, { outcome: "drop", reason: "too_many_attempts" });
}

function starting(payload: Record<string, unknown>): (deliveryCount: number) => Delivery {
  const streamSequence = (sequence += 1);
  const { publishedAt } = startDelivery("fragile", payload, { streamSequence });
  return (deliveryCount) => ({
    ...startDelivery("fragile", payload, { streamSequence, deliveryCount }),
    publishedAt,
  });
}

/** Returns the wake-up that the sweeper sends for a stored command. */
function hinting(runId: string): (deliveryCount: number) => Delivery {
  const streamSequence = (sequence += 1);
  const { publishedAt } = hintDelivery(resumeRun, { runId }, { streamSequence });
  return (deliveryCount) => ({
    ...hintDelivery(resumeRun, { runId }, { streamSequence, deliveryCount }),
    publishedAt,
  });
}

async function onlyLetter(runId: string) {
  const letters = (await parts.letters.list()).filter((one) => one.runId === runId);
  assert.equal(letters.length, 1, "it is listed once");
  const found = await findLetter(parts, { letterId: letters[0]?.id ?? "", caller: "cli" });
  assert.ok(found !== null && !found.isSent);
  return found;
}

async function redriven(runId: string): Promise<void> {
  const found = await onlyLetter(runId);
  assert.ok(found.text !== null, "its text was kept");
  assert.equal(await redrive(parts, { ...found, text: found.text }), null);
  assert.deepEqual(
    (await parts.letters.list()).filter((one) => one.runId === runId),
    [],
    "it is off the list",
  );
}

for (const [title, more] of [
  ["a command", {}],
  ["a message of a session", { session: "support" }],
] as const)
  test(`${title} that runners die of again after it was sent again is given up again, and in the end becomes its run`, async () => {
    const name = title.replaceAll(" ", "-");
    const runId = `cli~${name}`;
    await givenUp(starting({ runId: name, input: "x", ...more }));
    await redriven(runId);
    await givenUp(hinting(runId));
    await redriven(runId);
    const last = await mortal.worker(dyingAt(null)).handle(hinting(runId)(1));
    assert.deepEqual(last, { outcome: "done" });
    const events = await lab.eventsUntil(name, "finished");
    assert.deepEqual(
      events.map((event) => event.name).filter((event) => event !== "queued"),
      ["rejected", "rejected", "started", "model-responded", "finished"],
      "its sender is notified each time",
    );
    assert.equal(await parts.kept.read(runId), null, "nothing of it is left");
  });

test("a command that is too large to be stored is listed without its text", async () => {
  await givenUp(starting({ runId: "large", input: "x".repeat(70_000) }));
  const { letter, text } = await onlyLetter("cli~large");
  assert.equal(text, null);
  const listed = await parts.letters.list("cli");
  assert.equal(listed.find(({ runId }) => runId === letter.runId)?.canRedrive, false);
});

test("only its sender and admins find a command that was given up, before and after it was sent again", async () => {
  await givenUp(starting({ runId: "mine", input: "x" }));
  const { letter } = await onlyLetter("cli~mine");
  const letterId = `cli~mine:${Date.parse(letter.sentAt)}`;
  const seenBy = async (caller: string): Promise<boolean | undefined> =>
    (await findLetter(parts, { letterId, caller }))?.isSent;
  assert.deepEqual([await seenBy("team-b"), await seenBy("admin")], [undefined, false]);
  await redriven("cli~mine");
  assert.deepEqual([await seenBy("team-b"), await seenBy("cli")], [undefined, true]);
});

test("a text is removed with its letter, and both when they are too old", async () => {
  await givenUp(starting({ runId: "old", input: "x" }));
  const { letter } = await onlyLetter("cli~old");
  const early = new Date(Date.now() - 31 * 86_400_000).toISOString();
  await parts.letters.add(
    { ...letter, sentAt: early },
    { digest: "d", command: (await onlyLetter("cli~old")).text?.command ?? assert.fail() },
  );
  const texts = await redis.hkeys("yard:runs:letters:texts");
  assert.deepEqual(
    texts.filter((id) => id.startsWith("cli~old:")),
    [`cli~old:${Date.parse(letter.sentAt)}`],
  );
});

// Data that earlier versions left behind works with this one: real data, made by their code (record.ts).

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { approveCall, listApprovals } from "@switchyard/contracts/policy/approvals";
import { answerQuestion, listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun, listRuns } from "@switchyard/contracts/agent-runner/runs";
import { sessionHistory } from "@switchyard/contracts/agent-runner/sessions";
import { anonymousUser } from "@switchyard/topology/topology";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { plainClient } from "../e2e/plain-client.ts";
import { connectAsCli, startYardDev } from "../lib/yard-dev.ts";
import { RULES, writeAgent, writeInstallation } from "./left-runs.ts";
import { readRecording, restore } from "./recording.ts";
import { BEFORE_OWNERS, LAST_VERSION } from "./versions.ts";

/** Reads the output of its earlier runs. */
const READING = `
  steps: [{ calls: [{ tool: memory_read, with: {} }] }]
  answer: "{{/results/0/text}}"`;
/** Older versions would refuse it. */
const RIGHTS = "rights:\n  - { id: sharing, right: share-memory, users: [me] }\n";

for (const version of [BEFORE_OWNERS, LAST_VERSION]) {
  const directory = await testDirectory();
  test(`runs, sessions and approvals of ${version} continue`, async (t) => {
    const installation = await writeInstallation(directory);
    const { project, stateDir, workspace } = installation;
    const recording = await readRecording(join(import.meta.dirname, `recorded/${version}.json`));
    await restore(recording, { directory, stateDir });
    const hadOwners = version !== BEFORE_OWNERS;
    const full = (runId: string) => (hadOwners ? `me~${runId}` : runId);
    await writeAgent(project, "keeper", READING);
    const dev = await startYardDev(installation);
    const { inboxPrefix, name: user } = anonymousUser;
    const bus = await connectBus({ servers: dev.natsUrl, user, inboxPrefix });
    const cli = await connectAsCli(dev);
    const client = await plainClient(dev.natsUrl);
    t.after(async () => {
      await Promise.all([bus.close(), cli.close(), client.close()]);
      await dev.stop();
    });
    const outputOf = async (runId: string) => {
      // A message that waited in a session is a run only when its turn comes.
      const reply = await until(
        () => call(bus, getRun, { runId }).catch(() => null),
        (found) => found !== null && !["running", "waiting"].includes(found.run.status),
      );
      return reply?.run.output;
    };

    await t.test("a run that has ended is found, and its command makes no second one", async () => {
      assert.equal(await outputOf("finished"), "hello world");
      client.publish("yard.cmd.me.run.start.greeter", { runId: "finished", input: "world" });
      client.publish("yard.cmd.me.run.start.greeter", { runId: "later", input: "you" });
      await client.waitForEvent("yard.evt.run.me.later.finished", () => true);
      const { runs } = await call(bus, listRuns, { limit: 50 });
      const named = runs.filter(({ runId }) => runId.endsWith("finished"));
      assert.deepEqual(
        named.map(({ runId }) => runId),
        [full("finished")],
      );
      assert.equal((await call(cli, getRun, { runId: full("finished") })).run.requester, "me");
    });

    await t.test(
      "a run that asked a question is answered, and publishes it under its owner",
      async () => {
        const asked = { runId: "asking", callId: `${full("asking")}:1:0`, answer: "this" };
        await call(bus, answerQuestion, asked);
        assert.equal(await outputOf("asking"), "you said this");
        const event = await client.waitForEvent("yard.evt.run.me.asking.finished", () => true);
        const { seq } = event.payload as { seq: number };
        assert.ok(seq > 3, "its events are counted on");
      },
    );

    await t.test("a run that waits for another one gets its end", async () => {
      const { questions } = await call(bus, listQuestions, { limit: 50 });
      const child = questions.find(({ runId }) => runId.startsWith(full("sub-")));
      assert.ok(child !== undefined, JSON.stringify(questions));
      const { runId, callId } = child;
      await call(bus, answerQuestion, { runId, callId, answer: "that" });
      assert.equal(await outputOf("parent"), "it said: you said that");
    });

    await t.test("a call that waited for an approval is made", async () => {
      const { approvals } = await call(cli, listApprovals, { runId: full("approval") });
      await call(cli, approveCall, { id: approvals[0]?.id ?? "" });
      await outputOf("approval");
      assert.equal(await readFile(join(workspace, "note.txt"), "utf8"), "approved");
    });

    await t.test(
      "what an agent kept is its owner's; without one, it is given to an agent that shares its memory",
      async () => {
        const read = async (runId: string) => {
          client.publish("yard.cmd.me.run.start.keeper", { runId, input: "x" });
          return outputOf(runId);
        };
        assert.equal(await read("own"), hadOwners ? "likes" : "Nothing is kept yet.");
        if (hadOwners) return;
        assert.ok(dev.log.some((line) => JSON.stringify(line).includes("shared_memory")));
        await writeAgent(project, "keeper", READING, "shared_memory: true\n");
        await writeFile(join(project, "policies/rules.yaml"), `${RULES}${RIGHTS}`);
        let runs = 0;
        await until(
          () => read(`sharing-${(runs += 1)}`),
          (text) => text === "likes",
        );
      },
    );

    await t.test("a session continues where it was, with the message that waited", async () => {
      await call(bus, answerQuestion, {
        runId: "turn",
        callId: `${full("turn")}:1:0`,
        answer: "first",
      });
      assert.equal(await outputOf("turn"), "you said first");
      assert.equal(await outputOf("queued"), "hello three");
      const { messages } = await call(bus, sessionHistory, { session: "support" });
      assert.deepEqual(
        messages.map(({ text }) => text).filter((text) => text.startsWith("hello")),
        ["hello one", "hello three"],
      );
    });
  });
}

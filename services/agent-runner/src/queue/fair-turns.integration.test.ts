import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { agent, answering, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const lab = await startLab();
const { services } = lab;
const ALONE = {
  YARD_RUNNER_SLOTS: "1",
  YARD_DRAIN_MS: "1000",
  ...testConstants({ runSweepMs: 200 }),
};

/** Calls of a tool that wait until the test releases them. */
class Held {
  calls = 0;
  #waiting: (() => void)[] = [];

  constructor(tool: string) {
    services.tools.set(tool, () => {
      this.calls += 1;
      return new Promise((resolve) => this.#waiting.push(() => resolve("went on")));
    });
    const plan = { steps: [{ calls: [{ tool: labTool(tool), with: {} }] }], answer: "done" };
    services.agents.set(tool, agent(tool, { plan }));
  }

  async reached(calls: number): Promise<void> {
    await until(() => this.calls >= calls);
  }

  letGo(): void {
    this.#waiting.shift()?.();
  }
}

let slow = new Held("slow");
let held = new Held("held");
let round = 0;
beforeEach(() => {
  round += 1;
  slow = new Held("slow");
  held = new Held("held");
});

/** A run id that no other test has. */
const id = (name: string): string => `${name}-${round}`;

function start(caller: string, agentName: string, runId: string): Promise<void> {
  const body = JSON.stringify({ runId, input: "x" });
  return lab.publish(`yard.cmd.${caller}.run.start.${agentName}`, body);
}

async function flood(count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => n);
  await Promise.all(numbers.map((n) => start("noisy", "slow", id(`noisy-${n}`))));
}

/** Lets all queued runs end. */
async function drain(): Promise<void> {
  services.tools.set("slow", () => "went on");
  await until(async () => {
    slow.letGo();
    return (await lab.pendingCommands()) === 0;
  });
}

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  test(`a run that was begun before its turn continues elsewhere after ${signal}, before its turn [run-goal-3][run-goal-10]`, async () => {
    await flood(20);
    const first = await lab.runnerProcess(ALONE);
    await slow.reached(1);
    await start("quiet", "held", id("quiet"));
    slow.letGo();
    await held.reached(1);
    first.kill(signal);
    await first.exited;
    const before = slow.calls;
    const second = await lab.runnerProcess(ALONE);
    await slow.reached(before + 1);
    const wakeUp = `yard.cmd.runner.run.resume.quiet~${id("quiet")}`;
    await until(async () => (await lab.stored(wakeUp)) > 0);
    slow.letGo();
    held.letGo();
    const events = await lab.eventsUntil(`quiet~${id("quiet")}`, "finished");
    assert.equal(events.filter(({ name }) => name === "started").length, 1);
    assert.ok(slow.calls <= before + 2, `${slow.calls - before} runs of the other came first`);
    await drain();
    second.kill("SIGTERM");
    await second.exited;
  });
}

test("a command that cannot become a run is refused once, in its turn [run-goal-10]", async () => {
  await flood(5);
  const runner = await lab.runnerProcess(ALONE);
  await slow.reached(1);
  await start("quiet", "nobody", id("refused"));
  for (let calls = 1; calls < 5; calls += 1) {
    slow.letGo();
    await slow.reached(calls + 1);
  }
  const rejected = `yard.evt.run.quiet.${id("refused")}.rejected`;
  assert.equal(await lab.stored(rejected), 0);
  await drain();
  await lab.eventsUntil(`quiet~${id("refused")}`, "rejected");
  runner.kill("SIGTERM");
  await runner.exited;
  assert.equal(await lab.stored(rejected), 1);
});

test("a command that kills runners is taken before its turn by one of them [run-goal-10]", async () => {
  await flood(20);
  let current = await lab.runnerProcess(ALONE);
  let deaths = 0;
  services.hooks.getAgent = async (name) => {
    if (name !== "deadly") return;
    deaths += 1;
    current.kill("SIGKILL");
    await current.exited;
  };
  await slow.reached(1);
  await start("quiet", "deadly", id("deadly"));
  slow.letGo();
  await current.exited;
  current = await lab.runnerProcess(ALONE);
  const before = slow.calls;
  for (let calls = 1; calls <= 5; calls += 1) {
    await slow.reached(before + calls);
    slow.letGo();
  }
  assert.equal(deaths, 1);
  delete services.hooks.getAgent;
  await drain();
  current.kill("SIGTERM");
  await current.exited;
});

test("a caller with 1,000 runs in the queue delays the first step of another by one slot [run-goal-10]", async () => {
  services.agents.set("quick", answering("quick", "here"));
  await flood(1_000);
  const runner = await lab.runnerProcess({ YARD_RUNNER_SLOTS: "2" });
  await slow.reached(2);
  await start("quiet", "quick", id("quiet"));
  slow.letGo();
  const events = await lab.eventsUntil(`quiet~${id("quiet")}`, "finished");
  assert.equal(events.at(-1)?.payload["output"], "here");
  assert.ok(slow.calls <= 4, `${slow.calls - 2} runs of the other came first`);
  runner.kill("SIGKILL");
  await runner.exited;
  // This must stay the last test of the file: the queued messages are lost with the servers.
});

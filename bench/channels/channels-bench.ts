import { setTimeout as delay } from "node:timers/promises";
import type { Bus } from "@switchyard/bus/bus";
import { call } from "@switchyard/bus/call";
import { publishCommand } from "@switchyard/bus/publish";
import { submitChannelMessage } from "@switchyard/contracts/channels/channels";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { addSchedule } from "@switchyard/contracts/scheduler/schedules";
import type { DevInstance } from "../../test/lib/yard-dev.ts";
import type { Bench } from "../lib/bench.ts";
import { testConstants } from "@switchyard/testing/test-constants";
import { INSPECTED, watchHeap } from "../lib/collected-heap.ts";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { processorTimes } from "../lib/processor-time.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import { followStarts, type StartFollower } from "./start-follower.ts";

const AT_ONCE = 32;
const GOAL = { ratio: 1.5, startMs: 5_000, megabytes: 50, idleMs: 10 };

/** Measures what a chat and a schedule add to a run: the way of a message, jobs that are due together, jobs that are not due. */
export async function benchChannels({ stage, rounds }: Bench): Promise<Report> {
  const isWhole = rounds > 1;
  const { bus, instance } = await startSwitchyard(stage, {
    runners: 1,
    env: testConstants({ schedulesPerCaller: 20_000 }, INSPECTED),
  });
  const starts = followStarts(bus);
  stage.onEnd(() => starts.stop());
  await starts.opened;
  const messages = await messageFigure(bus, starts, isWhole ? 200 : 20);
  const due = await dueFigure(bus, starts, isWhole ? 1_000 : 100);
  const resting = await restingFigures(bus, instance, isWhole ? 10_000 : 500);
  return { name: "channels", figures: [messages, due, ...resting] };
}

/** Sequential, in turn with a command; each message in a conversation of its own. */
async function messageFigure(bus: Bus, starts: StartFollower, count: number): Promise<Figure> {
  const chats: number[] = [];
  const commands: number[] = [];
  const warmUp = Math.ceil(count / 10);
  for (let turn = 0; turn < count + warmUp; turn += 1) {
    const id = `person-${process.pid}-${turn}`;
    const ofMessage = await msToStart(starts, () =>
      call(bus, submitChannelMessage, {
        channel: "loopback",
        accountId: "bench",
        target: { kind: "user", id },
        sender: { id },
        text: "go",
      }),
    );
    const ofCommand = await msToStart(starts, () =>
      publishCommand(bus, startRun, { agent: "answers" }, { input: "go", runId: id }),
    );
    if (turn < warmUp) continue;
    chats.push(ofMessage);
    commands.push(ofCommand);
  }
  return compared(
    {
      name: "message came in → run started, p50",
      value: median(chats),
      unit: "ms",
      baseline: median(commands),
    },
    { text: `≤ ${GOAL.ratio}×`, holds: (ratio) => ratio <= GOAL.ratio },
  );
}

async function msToStart(starts: StartFollower, begin: () => Promise<unknown>): Promise<number> {
  const next = starts.next();
  const began = performance.now();
  const [at] = await Promise.all([next, begin()]);
  return at - began;
}

/** Jobs that are all due at one moment, until the last one's run has started; beside as many commands that are published at once. */
async function dueFigure(bus: Bus, starts: StartFollower, count: number): Promise<Figure> {
  const dueAt = Date.now() + 10_000 + count * 20;
  const at = new Date(dueAt).toISOString();
  await addJobs(bus, count, { kind: "at", at });
  if (Date.now() >= dueAt) throw new Error("the jobs were due before all of them were added");
  let before = starts.count();
  await startedOf(starts, before + count);
  const value = Math.max(0, Date.now() - dueAt);
  await delay(SETTLED_MS);
  before = starts.count();
  const began = Date.now();
  await inTurns(count, (index) =>
    publishCommand(bus, startRun, { agent: "answers" }, { input: "go", runId: `due-${index}` }),
  );
  await startedOf(starts, before + count);
  const baseline = Date.now() - began;
  return {
    name: `${count} jobs due at one moment → the last run started`,
    value,
    unit: "ms",
    baseline,
    ratio: value / baseline,
    goal: `≤ ${GOAL.startMs} ms`,
    met: value <= GOAL.startMs,
  };
}

async function startedOf(starts: StartFollower, count: number): Promise<void> {
  while (starts.count() < count) await starts.next();
}

const SETTLED_MS = 10_000;
const WATCHED_MS = 10_000;

/** Jobs that are not due: their share of the scheduler's heap, and of a processor. */
async function restingFigures(bus: Bus, instance: DevInstance, count: number): Promise<Figure[]> {
  const heap = await watchHeap(instance, "scheduler");
  await delay(SETTLED_MS);
  const before = await heap.liveBytes();
  const idleBefore = await idleMs(instance);
  await addJobs(bus, count, { kind: "every", everyMs: 86_400_000 });
  await delay(SETTLED_MS);
  const megabytes = Math.max(0, (await heap.liveBytes()) - before) / 1e6;
  heap.close();
  const value = await idleMs(instance);
  return [
    {
      name: `heap of the scheduler for ${count} jobs`,
      value: megabytes,
      unit: "MB",
      goal: `≤ ${GOAL.megabytes} MB`,
      met: megabytes <= GOAL.megabytes,
    },
    {
      name: `processor time of an idle second with ${count} jobs, beside none`,
      value,
      unit: "ms",
      baseline: idleBefore,
      goal: `≤ ${GOAL.idleMs} ms more`,
      met: value - idleBefore <= GOAL.idleMs,
    },
  ];
}

/** Processor time of the scheduler in a second, in milliseconds. */
async function idleMs(instance: DevInstance): Promise<number> {
  const used = async (): Promise<number> =>
    (await processorTimes(instance))?.get("scheduler") ?? Number.NaN;
  const before = await used();
  await delay(WATCHED_MS);
  return ((await used()) - before) / (WATCHED_MS / 1_000);
}

async function addJobs(
  bus: Bus,
  count: number,
  schedule: { kind: "at"; at: string } | { kind: "every"; everyMs: number },
): Promise<void> {
  await inTurns(count, (index) =>
    call(bus, addSchedule, {
      job: {
        name: `job ${index}`,
        agentId: "answers",
        schedule,
        sessionTarget: "isolated",
        payload: { kind: "agentTurn", message: "go" },
      },
    }),
  );
}

async function inTurns(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => index).values();
  const worker = async (): Promise<void> => {
    for (const index of ids) await work(index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

import { parentPort, workerData } from "node:worker_threads";
import { judgeSkill, type JudgeJob } from "../src/judge/judge-skill.ts";

// A judge as the pool starts them, that hangs, dies or eats memory where a skill's directory says so.

const done = new Int32Array(workerData as SharedArrayBuffer); // as the pool starts it

parentPort?.on("message", (job: JudgeJob) => {
  if (job.directoryName === "hangs") for (;;);
  if (job.directoryName === "dies") process.exit(3);
  if (job.directoryName === "throws") throw new Error("a bug");
  if (job.directoryName === "eats")
    for (const eaten: unknown[] = []; ;) eaten.push(Array.from({ length: 1_000 }));
  const judgement = judgeSkill(job);
  Atomics.add(done, 0, 1);
  parentPort?.postMessage(judgement, []);
});

// All modules are loaded: from now on the clock may run.
parentPort?.postMessage("ready", []);

import { parentPort, workerData } from "node:worker_threads";
import { doJob, type Job } from "../src/judge/judge-job.ts";

// A judge as the pool starts them, that hangs, dies or eats memory where the name of a skill or agent says so.

const done = new Int32Array(workerData as SharedArrayBuffer); // as the pool starts it

parentPort?.on("message", (message: Job) => {
  const name =
    message.kind === "skill" ? message.job.directoryName : message.job.facts.fallbackName;
  if (name === "hangs") for (;;);
  if (name === "dies") process.exit(3);
  if (name === "throws") throw new Error("a bug");
  if (name === "eats")
    for (const eaten: unknown[] = []; ;) eaten.push(Array.from({ length: 1_000 }));
  const verdict = doJob(message);
  Atomics.add(done, 0, 1);
  parentPort?.postMessage(verdict, []);
});

// All modules are loaded: from now on the clock may run.
parentPort?.postMessage("ready", []);

import { parentPort, workerData } from "node:worker_threads";
import { validate } from "../bundle/validate.ts";
import { replay } from "./replay.ts";
import type { ReplayJob, ReplayReply } from "./replayer.ts";

// replayer.ts starts this file with the job as its data.
const { texts, decisions } = workerData as ReplayJob;
const { bundle, problems } = validate({ files: texts.files, tests: [] });

const reply: ReplayReply = {
  policyDigest: bundle?.digest ?? null,
  problems: problems.slice(0, 100),
  results: bundle === null ? [] : decisions.map((recorded) => replay(bundle, recorded)),
};
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread has no origin
parentPort?.postMessage(reply);

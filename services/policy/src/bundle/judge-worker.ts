import { parentPort, workerData } from "node:worker_threads";
import type { JudgedApart } from "./judge-texts.ts";
import { validate, type PolicyTexts } from "./validate.ts";

// judge-texts.ts starts this file with the texts as its data.
const texts = workerData as PolicyTexts;
const { parsed, problems, results, findings } = validate(texts);

const judged: JudgedApart = { parsed, problems, results, findings };
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread has no origin
parentPort?.postMessage(judged);

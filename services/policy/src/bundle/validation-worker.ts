import { parentPort, workerData } from "node:worker_threads";
import { isGood, validate, type PolicyTexts } from "./validate.ts";
import type { ValidationReply } from "./validator.ts";

// validator.ts starts this file with the texts as its data.
const validation = validate(workerData as PolicyTexts);
const { bundle, problems, results, findings } = validation;

const reply: ValidationReply = {
  valid: isGood(validation),
  policyDigest: bundle?.digest ?? null,
  rules: bundle?.ruleCount ?? 0,
  problems: problems.slice(0, 100),
  tests: [...results],
  findings: [...findings],
};
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread has no origin
parentPort?.postMessage(reply);

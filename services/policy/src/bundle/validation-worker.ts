import { parentPort, workerData } from "node:worker_threads";
import { validate, type PolicyTexts } from "./validate.ts";
import type { ValidationReply } from "./validator.ts";

// validator.ts starts this file with the texts as its data.
const { bundleText, testsText } = workerData as PolicyTexts;
const { bundle, problems, results, findings } = validate(bundleText, testsText);

const hasPassed = problems.length === 0 && results.every(({ passed }) => passed);
const reply: ValidationReply = {
  valid: bundle !== null && hasPassed,
  policyDigest: bundle?.digest ?? null,
  rules: bundle?.ruleCount ?? 0,
  problems: [...problems],
  tests: [...results],
  findings: [...findings],
};
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread has no origin
parentPort?.postMessage(reply);

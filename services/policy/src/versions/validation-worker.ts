import { answerThreadJob } from "@switchyard/service/thread-job";
import { isGood, validate, type PolicyTexts } from "@switchyard/rules/engine/validate";
import type { ValidationReply } from "./validator.ts";

// validator.ts starts this file.
answerThreadJob((texts: PolicyTexts): ValidationReply => {
  const validation = validate(texts);
  const { bundle, problems, results, findings } = validation;
  return {
    valid: isGood(validation),
    policyDigest: bundle?.digest ?? null,
    rules: bundle?.ruleCount ?? 0,
    problems: problems.slice(0, 100),
    tests: [...results],
    findings: [...findings],
  };
});

import { answerThreadJob } from "@switchyard/service/thread-job";
import type { CheckedApart } from "./check-texts.ts";
import { validate, type PolicyTexts } from "@switchyard/rules/engine/validate";

// check-texts.ts starts this file.
answerThreadJob((texts: PolicyTexts): CheckedApart => {
  const { parsed, problems, results, findings } = validate(texts);
  return { parsed, problems, results, findings };
});

import { answerThreadJob } from "@switchyard/service/thread-job";
import type { JudgedApart } from "./judge-texts.ts";
import { validate, type PolicyTexts } from "./validate.ts";

// judge-texts.ts starts this file.
answerThreadJob((texts: PolicyTexts): JudgedApart => {
  const { parsed, problems, results, findings } = validate(texts);
  return { parsed, problems, results, findings };
});

import { answerThreadJob } from "@switchyard/service/thread-job";
import { validate } from "@switchyard/rules/engine/validate";
import { createValueReader } from "./read-values.ts";
import { replay } from "./replay.ts";
import type { ReplayJob, ReplayReply } from "./replayer.ts";
import { createValueKeys } from "./value-keys.ts";

// replayer.ts starts this file.
answerThreadJob(({ texts, decisions, keys, mayOpen }: ReplayJob): ReplayReply => {
  const { bundle, problems } = validate({ files: texts.files, tests: [] });
  const reader = bundle && createValueReader({ bundle, keys: createValueKeys(keys), mayOpen });
  return {
    policyDigest: bundle?.digest ?? null,
    problems: problems.slice(0, 100),
    results:
      bundle === null || reader === null
        ? []
        : decisions.map((recorded) => replay(bundle, recorded, reader)),
  };
});

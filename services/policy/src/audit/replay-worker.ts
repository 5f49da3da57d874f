import { answerThreadJob } from "@switchyard/service/thread-job";
import { validate } from "@switchyard/rules/engine/validate";
import { replay } from "./replay.ts";
import type { ReplayJob, ReplayReply } from "./replayer.ts";

// replayer.ts starts this file.
answerThreadJob(({ texts, decisions }: ReplayJob): ReplayReply => {
  const { bundle, problems } = validate({ files: texts.files, tests: [] });
  return {
    policyDigest: bundle?.digest ?? null,
    problems: problems.slice(0, 100),
    results: bundle === null ? [] : decisions.map((recorded) => replay(bundle, recorded)),
  };
});

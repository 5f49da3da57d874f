import type { Service } from "@switchyard/bus/serve";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import {
  answerQuestion,
  listQuestions,
  type RunWait,
} from "@switchyard/contracts/agent-runner/run-waits";
import type { RunIndex } from "../journal/run-index.ts";
import { isAdmin } from "../journal/run-access.ts";
import type { RunNames } from "../journal/run-names.ts";
import type { RunControls } from "../journal/run-controls.ts";
import { problemsOfAnswer } from "./check-answer.ts";
import type { ParkedRuns } from "../journal/parked-runs.ts";

/** Lists the questions of runs and accepts the answers. */
export function handleWaits(
  service: Service,
  options: {
    readonly index: RunIndex;
    readonly controls: RunControls;
    readonly names: RunNames;
    readonly parked: ParkedRuns;
    readonly now: () => number;
  },
): void {
  const { index, controls, names, parked, now } = options;
  service.handle(listQuestions, async (page, { caller }) =>
    parked.questions(page, isAdmin(caller) ? undefined : caller),
  );

  service.handle(answerQuestion, async ({ runId: named, callId, answer }, { caller, fail }) => {
    const refusal = (): Error => {
      const message = `run ${named} was not started by ${caller}; its requester, cli and admin may answer`;
      return fail.not_allowed(message, { runId: named });
    };
    const runId = names.controlled(caller, named);
    if (runId === null) throw refusal();
    const none = `run ${runId} asks nothing under ${callId}, or no longer`;
    const run = await index.get(runId);
    const wait = run?.waits?.find((each) => each.callId === callId && isOpen(each, now()));
    if (wait !== undefined) {
      const problems = problemsOfAnswer(wait, answer);
      if (problems.length > 0)
        throw fail.invalid_answer(`the answer does not fit: ${problems.join("; ")}`, { problems });
    }
    const at = new Date(now()).toISOString();
    const resolution = { type: "answer" as const, answer, by: caller };
    const outcome = await controls.append({
      runId,
      entry: { kind: "wait-resolved", at, callId, resolution },
      by: caller,
      // Without an open question only a repeat can be recognised, and nothing may be written.
      expected: wait === undefined ? NOTHING : callId,
      command: `answer:${callId}:${canonicalDigest(answer)}`,
    });
    if (outcome === "not_allowed") throw refusal();
    if (outcome === "taken") return { outcome: "accepted" as const };
    if (outcome === "known") return { outcome: "answered_before" as const };
    throw fail.no_question(none, { runId, callId });
  });
}

/** No call has this id. */
const NOTHING = "-";

function isOpen({ reason, until }: RunWait, now: number): boolean {
  return reason === "question" && (until === null || now < Date.parse(until));
}

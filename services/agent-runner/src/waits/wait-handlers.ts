import type { Service } from "@switchyard/bus/serve";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import {
  answerForUser,
  answerQuestion,
  listQuestions,
  listQuestionsForChats,
  questionBinding,
  type RunWait,
} from "@switchyard/contracts/agent-runner/run-waits";
import { failuresOf } from "@switchyard/contracts/errors";
import type { z } from "zod";
import type { RunIndex } from "../journal/run-index.ts";
import type { RunStore } from "../journal/run-store.ts";
import { controlledRun, isAdmin } from "../journal/run-access.ts";
import type { RunControls } from "../journal/run-controls.ts";
import { problemsOfAnswer } from "./ask-user-tool.ts";
import type { ParkedRuns } from "../journal/parked-runs.ts";

export interface WaitParts {
  readonly index: RunIndex;
  readonly controls: RunControls;
  readonly parked: ParkedRuns;
  readonly store: Pick<RunStore, "load">;
  readonly now: () => number;
}

type AnswerRequest = z.output<typeof answerQuestion.request>;

/** Questions of one user in a reply for chats. */
const MAX_FOR_CHATS = 50;

const fail = failuresOf(answerQuestion.errors);

/** Lists the questions of runs and accepts the answers. */
export function handleWaits(service: Service, parts: WaitParts): void {
  const { parked } = parts;
  service.handle(listQuestions, async (page, { caller }) =>
    parked.questions(page, isAdmin(caller) ? undefined : [caller]),
  );
  service.handle(answerQuestion, (request, { caller }) => answer(parts, request, caller));
  service.handle(answerForUser, ({ user, binding, ...request }) =>
    answer(parts, request, user, binding),
  );
  service.handle(listQuestionsForChats, async ({ users, watched }) => {
    const { questions } =
      users.length === 0
        ? { questions: [] }
        : await parked.questions({ limit: MAX_FOR_CHATS }, users);
    const ends = await Promise.all(watched.map((one) => endOf(parts, one)));
    return { questions, ended: ends.filter((end) => end !== null) };
  });
}

/** `binding` is that of the question which the person was shown. */
async function answer(
  { index, controls, now }: WaitParts,
  { runId: named, callId, answer: given }: AnswerRequest,
  by: string,
  binding?: string,
): Promise<z.output<typeof answerQuestion.reply>> {
  const refusal = (): Error => {
    const message = `run ${named} was not started by ${by}; its requester, cli and admin may answer`;
    return fail.not_allowed(message, { runId: named });
  };
  const runId = controlledRun(by, named);
  if (runId === null) throw refusal();
  const none = `run ${runId} asks nothing under ${callId}, or no longer`;
  const run = await index.get(runId);
  const wait = run?.waits?.find((each) => each.callId === callId && isOpen(each, now()));
  if (wait !== undefined) {
    if (binding !== undefined && bindingOf(runId, wait) !== binding)
      throw fail.no_question(`run ${runId} asks another question under ${callId} now`, {
        runId,
        callId,
      });
    const problems = problemsOfAnswer(wait, given);
    if (problems.length > 0)
      throw fail.invalid_answer(`the answer does not fit: ${problems.join("; ")}`, { problems });
  }
  const at = new Date(now()).toISOString();
  const resolution = { type: "answer" as const, answer: given, by };
  const outcome = await controls.append({
    runId,
    entry: { kind: "wait-resolved", at, callId, resolution },
    by,
    // Without an open question only a repeat can be recognised, and nothing may be written.
    expected: wait === undefined ? NOTHING : callId,
    command: `answer:${callId}:${canonicalDigest(given)}`,
  });
  if (outcome === "not_allowed") throw refusal();
  if (outcome === "taken") return { outcome: "accepted" as const };
  if (outcome === "known") return { outcome: "answered_before" as const };
  throw fail.no_question(none, { runId, callId });
}

function bindingOf(
  runId: string,
  { callId, question = "", options = [], schema, until }: RunWait,
): string {
  return questionBinding({ runId, callId, question, options, schema, until: until ?? "" });
}

/** Returns what became of a question; null while it is open. */
async function endOf(
  { index, store, now }: WaitParts,
  { runId, callId }: { readonly runId: string; readonly callId: string },
) {
  const run = await index.get(runId);
  const wait = run?.waits?.find((each) => each.callId === callId && each.reason === "question");
  if (wait !== undefined && isOpen(wait, now())) return null;
  const gone = { runId, callId, by: null };
  if (run === null || wait !== undefined) return { ...gone, isLate: wait !== undefined };
  const entries = await store.load(runId);
  const answered = entries.findLast(
    (entry) =>
      entry.kind === "wait-resolved" &&
      entry.callId === callId &&
      entry.resolution.type === "answer",
  );
  if (answered?.kind === "wait-resolved" && answered.resolution.type === "answer")
    return { runId, callId, by: answered.resolution.by, isLate: false };
  const asked = entries.findLast(
    (entry) => entry.kind === "tool-parked" && entry.callId === callId,
  );
  const until = asked?.kind === "tool-parked" ? asked.wait.until : null;
  return { ...gone, isLate: until !== null && Date.parse(until) <= now() };
}

/** No call has this id. */
const NOTHING = "-";

function isOpen({ reason, until }: RunWait, now: number): boolean {
  return reason === "question" && (until === null || now < Date.parse(until));
}

import type { VerifiedCaller } from "@switchyard/bus/verified-caller";
import { isAdmin } from "@switchyard/contracts/user-roles";
import type { Service } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  answerForUser,
  answerQuestion,
  listQuestions,
  listQuestionsForChats,
  type AnswerContent,
  type Question,
} from "@switchyard/contracts/mcp-broker/mcp-questions";
import type { z } from "zod";
import { storeFailureAs } from "@switchyard/service/store-error";
import type { OpenQuestions } from "../server-requests/open-questions.ts";
import { contentProblems } from "../server-requests/question-form.ts";
import { currentQuestions, type QuestionKeeping } from "../server-requests/current-questions.ts";

export interface QuestionHandlerDeps extends QuestionKeeping {
  readonly open: OpenQuestions;
  /** NATS users that may answer every question. */
  readonly admins: readonly string[];
}

const LISTED = 500;

const fail = failuresOf({ ...listQuestions.errors, ...answerQuestion.errors });

const ENDS = { accept: "accepted", decline: "declined", cancel: "cancelled" } as const;

/** Answers `mcp.questions` and `mcp.answer`, in any broker: the questions are in Redis. */
export function handleQuestions(service: Service, deps: QuestionHandlerDeps): void {
  const { store, now, onLost } = deps;
  service.handle(listQuestions, async ({ server, pendingOnly }, verified) => {
    const all = await orUnavailable(() => currentQuestions({ store, now, onLost }));
    const shown = all
      .map(({ question }) => question)
      .filter((question) => server === undefined || question.server === server)
      .filter(({ state }) => !pendingOnly || state === "pending")
      .filter((question) => mayAnswer(deps, verified, question))
      .toSorted((a, b) => (a.askedAt < b.askedAt ? 1 : -1));
    return { questions: shown.slice(0, LISTED) };
  });

  service.handle(answerQuestion, (request, verified) => answer(deps, request, verified));
  service.handle(answerForUser, ({ user, ...request }) =>
    // A link answers as its caller, and never as an admin.
    answer({ ...deps, admins: [] }, request, { caller: user, roles: [] }),
  );
  service.handle(listQuestionsForChats, async ({ users }) => {
    const all = await orUnavailable(() => currentQuestions({ store, now, onLost }));
    const shown = all
      .map(({ question }) => question)
      .filter((question) => users.some((user) => isOf(user, question)))
      .toSorted((a, b) => (a.askedAt < b.askedAt ? 1 : -1));
    return { questions: shown.slice(0, LISTED) };
  });
}

/** True when each request that the server works on is the user's. */
function isOf(user: string, { askedFor }: Question): boolean {
  return askedFor.length > 0 && askedFor.every((principal) => principal.user === user);
}

function mayAnswer(
  { admins }: Pick<QuestionHandlerDeps, "admins">,
  verified: VerifiedCaller,
  question: Question,
): boolean {
  return isAdmin(admins, verified) || isOf(verified.caller, question);
}

async function answer(
  deps: QuestionHandlerDeps,
  { id, action, content }: z.output<typeof answerQuestion.request>,
  verified: VerifiedCaller,
): Promise<z.output<typeof answerQuestion.reply>> {
  const { store, open, now } = deps;
  const { caller } = verified;
  const [stored] = await orUnavailable(() => store.read([id]));
  if (stored === null || stored === undefined || !mayAnswer(deps, verified, stored.question))
    throw fail.unknown_question(`There is no question ${id} for ${caller}.`, { id });
  const { question, holder } = stored;
  if (question.state !== "pending") throw ended(question);
  const given = action === "accept" ? checkedContent(question, content) : undefined;
  const endedAt = new Date(now()).toISOString();
  const answered = { ...question, state: ENDS[action], endedAt, answeredBy: caller };
  const kept = given === undefined ? {} : { content: given };
  const stands = await orUnavailable(() => store.end({ question: answered, holder, ...kept }));
  if (stands?.question.endedAt !== endedAt || stands.question.answeredBy !== caller)
    throw ended(stands?.question ?? question);
  open.look();
  return { question: stands.question };
}

function checkedContent(
  question: Question,
  content: AnswerContent = {},
): AnswerContent | undefined {
  if (question.form === null) {
    if (Object.keys(content).length === 0) return undefined;
    throw invalid(["this question asks to open an address and takes no content"]);
  }
  const problems = contentProblems(question.form, content);
  if (problems.length > 0) throw invalid(problems);
  return content;
}

function invalid(problems: string[]) {
  return fail.invalid_content(`The answer does not fit the question: ${problems.join("; ")}`, {
    problems,
  });
}

function ended({ id, state }: Question) {
  return fail.already_ended(`Question ${id} is ${state} already.`, { id, state });
}

const orUnavailable = storeFailureAs(({ message: cause }) =>
  fail.store_unavailable(`The questions cannot be read now: ${cause}; try again later.`, { cause }),
);

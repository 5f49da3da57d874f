import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import type { Service } from "@switchyard/bus/serve";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { publicLink, type StoredLink } from "./chat-link-store.ts";
import {
  answerInChat,
  MAX_CHAT_QUESTIONS,
  questionsForChats,
  type ChatQuestion,
  type QuestionEnd,
  type QuestionRef,
} from "@switchyard/contracts/policy/chat-questions";
import { failuresOf, isError, isStandardCode, ServiceError } from "@switchyard/contracts/errors";
import * as mcpQuestions from "@switchyard/contracts/mcp-broker/mcp-questions";
import * as runWaits from "@switchyard/contracts/agent-runner/run-waits";
import { refusalOf } from "@switchyard/contracts/user-roles";
import type { z } from "zod";
import type { ChatLinks } from "./chat-links.ts";
import { orUnavailable } from "./user-handlers.ts";

export interface ChatQuestionParts {
  readonly bus: Bus;
  readonly chatLinks: ChatLinks;
}

type AnswerRequest = z.output<typeof answerInChat.request>;
type RunRef = Extract<QuestionRef, { runId: string }>;
type Asked = Awaited<ReturnType<typeof ofServers>>;

const fail = failuresOf({ ...questionsForChats.errors, ...answerInChat.errors });

/**
 * Questions of runs and servers in chats. The channels service reports which person answered and what was shown; the runner and the broker
 * get the answer in the name of the link's caller, who may answer its own questions alone.
 */
export function serveChatQuestions(service: Service, { bus, chatLinks }: ChatQuestionParts): void {
  service.handle(questionsForChats, async ({ watched }) => {
    const links = (await orUnavailable(() => chatLinks.asking())).filter(mayAnswer);
    const users = [...new Set(links.map(({ caller }) => caller))];
    if (users.length === 0 && watched.length === 0) return { pending: [], ended: [] };
    const runs = watched.filter((ref) => "runId" in ref);
    const others = watched.filter((ref) => "questionId" in ref);
    // While no broker answers, chats get the questions of runs all the same, and the other way round.
    const [fromRuns, fromServers] = await Promise.allSettled([
      call(bus, runWaits.listQuestionsForChats, { users, watched: runs }),
      ofServers(bus, { users, wanted: others.length > 0 }),
    ]);
    if (fromRuns.status === "rejected" && fromServers.status === "rejected")
      throw orUnreachable(fromRuns.reason);
    const ofRuns = fromRuns.status === "fulfilled" ? fromRuns.value : { questions: [], ended: [] };
    const servers = fromServers.status === "fulfilled" ? fromServers.value : null;
    const open = (servers ?? []).filter(({ state }) => state === "pending");
    const pending = [...ofRuns.questions.map(runQuestion), ...open.map(serverQuestion)]
      .slice(0, MAX_CHAT_QUESTIONS)
      .map((question) => ({
        question,
        links: links.filter(({ caller }) => caller === question.user).map(publicLink),
      }));
    const ended = [
      ...ofRuns.ended.map(endOfRunQuestion),
      ...others.flatMap((ref) =>
        servers === null ? [] : endOfServerQuestion(ref.questionId, servers),
      ),
    ];
    return { pending, ended };
  });

  service.handle(answerInChat, async (request) => {
    const { identity, ref } = request;
    const link = await orUnavailable(() => chatLinks.find(identity));
    if (link === null) {
      const { channel, accountId } = identity;
      throw fail.not_linked("this person of the chat is linked with no caller", {
        channel,
        accountId,
      });
    }
    const { caller } = link;
    const refusal = refusedByRights(link, ref);
    if (refusal !== null) throw fail.forbidden_answer(refusal, { caller });
    const outcome = await orRefused(caller, () =>
      "runId" in ref
        ? answerRun(bus, { ...request, ref }, caller)
        : answerServer(bus, { ...request, ref }, caller),
    );
    return { by: caller, outcome };
  });
}

async function answerRun(
  bus: Bus,
  { ref, binding, answer }: AnswerRequest & { readonly ref: RunRef },
  user: string,
): Promise<"accepted" | "answered_before"> {
  if (answer === undefined) throw missing("answer");
  const request = { user, ...ref, binding, answer };
  return (await call(bus, runWaits.answerForUser, request)).outcome;
}

/** The question of an id never changes, so its id binds the answer. */
async function answerServer(
  bus: Bus,
  { ref: { questionId: id }, action, content }: AnswerRequest & { ref: { questionId: string } },
  user: string,
): Promise<"accepted" | "answered_before"> {
  if (action === undefined) throw missing("action");
  const given = content === undefined ? {} : { content };
  await call(bus, mcpQuestions.answerForUser, { user, id, action, ...given });
  return "accepted";
}

function missing(field: string): Error {
  return fail.invalid_answer(`${field}: is missing`, { problems: [`${field}: is missing`] });
}

async function ofServers(
  bus: Bus,
  { users, wanted }: { readonly users: readonly string[]; readonly wanted: boolean },
) {
  if (users.length === 0 && !wanted) return [];
  const { questions } = await call(bus, mcpQuestions.listQuestionsForChats, { users: [...users] });
  return questions;
}

/** A link of a NATS user has no roles; its answers are limited to its own questions. */
function refusedByRights(link: StoredLink, ref: QuestionRef): string | null {
  if (link.roles.length === 0) return null;
  return refusalOf("runId" in ref ? runWaits.answerQuestion : mcpQuestions.answerQuestion, link);
}

function mayAnswer(link: StoredLink): boolean {
  const contracts = [runWaits.answerQuestion, mcpQuestions.answerQuestion];
  return link.roles.length === 0 || contracts.some((one) => refusalOf(one, link) === null);
}

function runQuestion({
  requester: user,
  agent,
  ...question
}: z.output<typeof runWaits.listQuestionsForChats.reply>["questions"][number]): ChatQuestion {
  const { runId, callId, until } = question;
  const binding = runWaits.questionBinding(question);
  return { ref: { runId, callId }, binding, user, run: { ...question, agent }, until };
}

function serverQuestion(question: mcpQuestions.Question): ChatQuestion {
  const { id, server, mode, message, form, url, askedFor, expiresAt } = question;
  const shown = { server, mode, message, form, url };
  return {
    ref: { questionId: id },
    binding: canonicalDigest({ id, ...shown }),
    user: askedFor[0]?.user ?? "",
    server: shown,
    until: expiresAt,
  };
}

function endOfRunQuestion({
  by,
  isLate,
  ...ref
}: z.output<typeof runWaits.listQuestionsForChats.reply>["ended"][number]): QuestionEnd {
  if (by !== null) return { ref, outcome: "answered", by };
  return { ref, outcome: isLate ? "expired" : "ended", by };
}

const OUTCOMES = {
  accepted: "answered",
  declined: "declined",
  cancelled: "declined",
  expired: "expired",
  lost: "ended",
} as const;

function endOfServerQuestion(questionId: string, known: Asked): QuestionEnd[] {
  const question = known.find(({ id }) => id === questionId);
  if (question?.state === "pending") return [];
  const outcome = question === undefined ? "ended" : OUTCOMES[question.state];
  return [{ ref: { questionId }, outcome, by: question?.answeredBy ?? null }];
}

function orUnreachable(error: unknown): unknown {
  return error instanceof ServiceError ? unavailable(error) : error;
}

async function orRefused<T>(caller: string, answer: () => Promise<T>): Promise<T> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { message } = error;
    if (isError(error, runWaits.answerQuestion, "not_allowed"))
      throw fail.forbidden_answer(message, { caller });
    if (isError(error, runWaits.answerQuestion, "invalid_answer"))
      throw fail.invalid_answer(message, error.data);
    if (isError(error, mcpQuestions.answerQuestion, "invalid_content"))
      throw fail.invalid_answer(message, { problems: error.data.problems.slice(0, 20) });
    if (["no_question", "unknown_question", "already_ended"].includes(error.code))
      throw fail.question_over(message, { cause: error.code });
    throw isStandardCode(error.code) || error.code === "store_unavailable"
      ? unavailable(error)
      : error;
  }
}

function unavailable({ code, message }: ServiceError): Error {
  return fail.questions_unavailable(`the questions cannot be reached now: ${message}; try again`, {
    cause: code,
  });
}

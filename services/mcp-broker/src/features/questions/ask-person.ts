import { ProtocolError, ProtocolErrorCode, type Result } from "@modelcontextprotocol/client";
import type { Question } from "@switchyard/contracts/mcp-questions";
import type { Principal } from "@switchyard/contracts/policy";
import { z } from "zod";
import type { ServerRequest } from "../../connection/session-hooks.ts";
import type { FeatureGate } from "../feature-gate.ts";
import { distinctAskers, type RequestOrigin, type RequestOrigins } from "../request-origins.ts";
import type { OpenQuestions, QuestionEnd } from "./open-questions.ts";
import { readForm } from "./question-form.ts";
import { QuestionStoreError } from "./question-store.ts";

export interface AskPersonDeps {
  readonly gate: FeatureGate;
  readonly origins: RequestOrigins;
  readonly questions: OpenQuestions;
  /** How long a question waits at most, in milliseconds. */
  readonly questionMs: number;
  readonly now: () => number;
  readonly newId: () => string;
  readonly onAsked: (question: Question) => void;
  readonly onTrouble: (server: string, error: unknown) => void;
}

/** Questions that may wait at a time: a server that floods gets no more than its share. */
export const MAX_OPEN = { perServer: 8, perBroker: 256 } as const;

const MAX_MESSAGE = 4_000;

const FormRequest = z.looseObject({
  mode: z.literal("form").default("form"),
  message: z.string(),
  requestedSchema: z.unknown(),
});
const UrlRequest = z.looseObject({
  mode: z.literal("url"),
  message: z.string(),
  url: z.url({ protocol: /^https?$/ }).max(4_096),
});

/**
 * Answers `elicitation/create`. What the policy denies is declined; what nobody can be asked now
 * (too many questions, no store, no request that it belongs to) is cancelled, which the server may
 * take as "not now". Rejects only for a request that is none.
 */
export async function askPerson(
  deps: AskPersonDeps,
  server: string,
  request: ServerRequest,
): Promise<Result> {
  const asks = readRequest(request.params);
  const origins = deps.origins.of(server);
  if (origins.length === 0) return { action: "cancel" };
  const principals = await allowedPrincipals(deps, { server, origins, mode: asks.mode });
  if (principals === null) return { action: "decline" };
  const { questions } = deps;
  if (questions.count(server) >= MAX_OPEN.perServer || questions.count() >= MAX_OPEN.perBroker)
    return { action: "cancel" };
  const question = newQuestion(deps, { server, origins, principals, asks });
  const asking = questions.ask(question, lostSignal(request.signal, origins));
  deps.onAsked(question);
  return resultOf(
    await asking.catch((error: unknown): QuestionEnd => {
      if (!(error instanceof QuestionStoreError)) throw error;
      deps.onTrouble(server, error);
      return { action: "cancel" };
    }),
  );
}

type Asks = Pick<Question, "mode" | "message" | "form" | "url">;

function readRequest(params: Readonly<Record<string, unknown>>): Asks {
  const form = FormRequest.safeParse(params);
  if (form.success) {
    const read = readForm(form.data.requestedSchema);
    if ("problem" in read) throw invalid(read.problem);
    return { mode: "form", message: cut(form.data.message), form: read.form, url: null };
  }
  const url = UrlRequest.safeParse(params);
  if (!url.success) throw invalid("it is neither a form nor an http or https address to open");
  return { mode: "url", message: cut(url.data.message), form: null, url: url.data.url };
}

/** Whose questions these are, when the policy allows each of them to be asked; else null. */
async function allowedPrincipals(
  { gate }: AskPersonDeps,
  asks: { server: string; origins: readonly RequestOrigin[]; mode: Question["mode"] },
): Promise<Principal[] | null> {
  const { server, origins, mode } = asks;
  const feature = { kind: "elicitation", server, name: "elicitation", args: { mode } } as const;
  const answers = await Promise.all(
    distinctAskers(origins).map((asked) => gate.decide(feature, asked).catch(() => null)),
  );
  const allowed = answers.flatMap((answer) =>
    answer?.decision.effect === "allow" ? [answer.principal] : [],
  );
  return allowed.length === answers.length ? allowed : null;
}

function newQuestion(
  { now, newId, questionMs }: AskPersonDeps,
  facts: {
    server: string;
    origins: readonly RequestOrigin[];
    principals: Principal[];
    asks: Asks;
  },
): Question {
  const askedAt = now();
  // After the deadline of the request nobody takes the answer any more.
  const deadline = Math.max(...facts.origins.map(({ asked }) => asked.deadline));
  return {
    id: newId(),
    server: facts.server,
    state: "pending",
    ...facts.asks,
    askedFor: facts.principals,
    askedAt: new Date(askedAt).toISOString(),
    expiresAt: new Date(Math.min(askedAt + questionMs, deadline)).toISOString(),
    endedAt: null,
    answeredBy: null,
  };
}

/** Aborts when the server takes its request back and when the last request that it may belong to has ended. */
function lostSignal(signal: AbortSignal, origins: readonly RequestOrigin[]): AbortSignal {
  const ended = new AbortController();
  let left = origins.length;
  for (const origin of origins) {
    origin.onEnd(() => {
      left -= 1;
      if (left === 0) ended.abort();
    });
  }
  return AbortSignal.any([signal, ended.signal]);
}

function resultOf(end: QuestionEnd): Result {
  if (end.action !== "accept" || end.content === undefined) return { action: end.action };
  return { action: "accept", content: end.content };
}

function invalid(problem: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `elicitation refused: ${problem}`);
}

function cut(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1)}…`;
}

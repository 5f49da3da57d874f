import { ProtocolError, ProtocolErrorCode, type Result } from "@modelcontextprotocol/client";
import { cutForReader } from "@switchyard/contracts/cut-text";
import type { Question } from "@switchyard/contracts/mcp-broker/mcp-questions";
import type { Principal } from "@switchyard/contracts/policy/policy";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { z } from "zod";
import type { ServerRequest } from "../connection/session-hooks.ts";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import type { Requester, PolicyGate } from "@switchyard/tool-provider/policy-gate";
import { StoreError } from "@switchyard/service/store-error";
import {
  allowedPrincipals,
  distinctRequesters,
  type RequestOrigin,
  type RequestOrigins,
} from "./request-origins.ts";
import type { OpenQuestions, QuestionEnd } from "./open-questions.ts";
import { readForm } from "./question-form.ts";

export interface AskPersonDeps {
  readonly gate: PolicyGate;
  readonly origins: RequestOrigins;
  readonly questions: OpenQuestions;
  /** The time for which a question waits at most, in milliseconds. */
  readonly questionMs: number;
  readonly now: () => number;
  readonly newId: () => string;
  readonly onRequested: (question: Question) => void;
  readonly onTrouble: (server: string, error: unknown) => void;
}

/** Questions that may wait at a time: a server that floods, or a user, gets no more than its share. */
const MAX_OPEN = { perServer: 32, perBroker: 256, perServerAndUser: 8, perUser: 64 } as const;

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
  elicitationId: z.string().max(500).optional(),
});

/**
 * Answers `elicitation/create`. A question that the policy denies is declined; one that can reach no person now (too many
 * questions, no store, no request that it belongs to) is cancelled, which the server may take as "not now". Rejects only for an
 * invalid request.
 */
export async function askPerson(
  deps: AskPersonDeps,
  config: ServerConfig,
  request: ServerRequest,
): Promise<Result> {
  const server = config.id;
  const asks = readRequest(request.params);
  const origins = deps.origins.of(config);
  if (origins.length === 0) return { action: "cancel" };
  const requesters = distinctRequesters(origins);
  const allowed = await askedPrincipals(deps, server, { requesters, mode: asks.mode });
  if (allowed === null) return { action: "decline" };
  const { questions } = deps;
  // Over stdio a server does not state on whose behalf it asks: a user with many questions does not use up the share of the
  // others.
  const principals = withRoom(questions, server, allowed);
  if (principals.length === 0) return { action: "cancel" };
  // After the deadline of the request no caller accepts the answer any more.
  const until = Math.max(...origins.map(({ requester }) => requester.deadline));
  const question = newQuestion(deps, { server, principals, asks, until });
  const resume = pauseUntil(origins, Date.parse(question.expiresAt) - deps.now());
  const { elicitationId } = asks;
  const lost = lostSignal(request.signal, origins);
  const onStored = (): void => deps.onRequested(question);
  try {
    return resultOf(await questions.ask(question, { lost, elicitationId, onStored }));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    deps.onTrouble(server, error);
    return { action: "cancel" };
  } finally {
    resume();
  }
}

/** A person's time is not the server's: the requests that wait do not count it, until the question is over. */
function pauseUntil(origins: readonly RequestOrigin[], forMs: number): () => void {
  const resumes = origins.map((origin) => origin.pause());
  const resume = (): void => {
    clearTimeout(timer);
    for (const each of resumes) each();
  };
  const timer = setTimeout(resume, forMs);
  return resume;
}

type Asks = Pick<Question, "mode" | "message" | "form" | "url"> & {
  /** The server's own id of an address to open. */
  readonly elicitationId?: string | undefined;
};

/** Reads an elicitation of a server; rejects with the error for the server when it is no valid question. */
export function readRequest(params: Readonly<Record<string, unknown>>): Asks {
  const form = FormRequest.safeParse(params);
  if (form.success) {
    const read = readForm(form.data.requestedSchema);
    if ("problem" in read) throw invalid(read.problem);
    return { mode: "form", message: cut(form.data.message), form: read.form, url: null };
  }
  const url = UrlRequest.safeParse(params);
  if (!url.success) throw invalid("it is neither a form nor an http or https address to open");
  const { message, url: address, elicitationId } = url.data;
  return { mode: "url", message: cut(message), form: null, url: address, elicitationId };
}

/** The principals to whom a question belongs, when the policy allows it for each of them; else null. */
export function askedPrincipals(
  { gate }: Pick<AskPersonDeps, "gate">,
  server: string,
  { requesters, mode }: { requesters: readonly Requester[]; mode: Question["mode"] },
): Promise<Principal[] | null> {
  const ref = mcpToolRef(server, "elicitation");
  return allowedPrincipals(gate, { kind: "elicitation", ref, args: { mode } }, requesters);
}

/** The principals that may have one more question of this server; none while the server or the broker has too many. */
export function withRoom(
  questions: OpenQuestions,
  server: string,
  principals: readonly Principal[],
): Principal[] {
  const { perServer, perBroker, perServerAndUser, perUser } = MAX_OPEN;
  if (questions.count() >= perBroker || questions.count({ server }) >= perServer) return [];
  return principals.filter(
    ({ user }) =>
      questions.count({ user }) < perUser && questions.count({ server, user }) < perServerAndUser,
  );
}

export function newQuestion(
  { now, newId, questionMs }: Pick<AskPersonDeps, "now" | "newId" | "questionMs">,
  facts: { server: string; principals: Principal[]; asks: Asks; until: number },
): Question {
  const askedAt = now();
  const { elicitationId: _, ...asks } = facts.asks;
  return {
    id: newId(),
    server: facts.server,
    state: "pending",
    ...asks,
    askedFor: facts.principals,
    askedAt: new Date(askedAt).toISOString(),
    expiresAt: new Date(Math.min(askedAt + questionMs, facts.until)).toISOString(),
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
  return cutForReader(text, MAX_MESSAGE);
}

import { questionRequested, type Question } from "@switchyard/contracts/mcp-broker/mcp-questions";
import { ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import type { z } from "zod";
import type { EventHub } from "../events/event-hub.ts";

type Reply = z.output<typeof callTool.reply>;

/** The next result of a call in progress. */
export type Step =
  | { readonly kind: "reply"; readonly reply: Reply }
  | { readonly kind: "question"; readonly question: Question };

/** A call of an MCP server's tool that is under way, and outlives the request of a client that is prompted with a question meanwhile. */
export interface PendingCall {
  /** The question that waits for an answer; null when none does. */
  readonly open: Question | null;
  /** Resolves with the reply or with the next question; rejects with the error of the call. */
  next(): Promise<Step>;
  /** The open question is answered elsewhere: a repeat of the same call waits for this one. */
  park(): void;
  /** The open question was answered: the server's own time counts again. */
  resume(): void;
  /** Ends the wait here; the caller of this method requests the cancellation at the broker. */
  abandon(): void;
}

export interface CallIdentity {
  readonly caller: string;
  readonly callId: string;
  /** Returns the digest that calls of the same tool with the same arguments share. Few calls need it: computing it costs more than finding one. */
  readonly same: () => string;
  /** The MCP server whose tool is called. */
  readonly server: string;
}

/** The time that a person has for the questions of one call, in milliseconds. */
export const QUESTION_MS = 10 * 60_000;
/** A result that no request waits for is stored this long. */
const UNCLAIMED_MS = 5 * 60_000;

interface Kept extends PendingCall {
  readonly identity: CallIdentity;
  readonly isParked: boolean;
}

/** The calls of one gateway that are under way. */
export interface PendingCalls {
  /** The caller's call with this id. */
  find(identity: Pick<CallIdentity, "caller" | "callId">): PendingCall | null;
  /** The id of a call of the same tool with the same arguments that waits for an answer given elsewhere. */
  parkedId(identity: Pick<CallIdentity, "caller" | "same">): string | null;
  /** Sends a call, and receives the questions that its server asks this caller meanwhile. */
  begin(identity: CallIdentity, provider: Provider): PendingCall;
}

interface Provider {
  /** Sends the call. Its time limit includes time for a person to answer; the server's own time is counted here. */
  readonly send: (limits: {
    readonly signal: AbortSignal;
    readonly timeoutMs: number;
  }) => Promise<Reply>;
  /** Ends the call at the broker when the server's time is over. */
  readonly cancel: () => void;
}

const keyOf = ({ caller, callId }: Pick<CallIdentity, "caller" | "callId">): string =>
  `${caller} ${callId}`;

export function createPendingCalls(hub: EventHub): PendingCalls {
  const calls = new Map<string, Kept>();
  /** Questions that a client has received: concurrent calls of the same caller get the same events. */
  const beingAsked = new Set<string>();
  return {
    find: (identity) => calls.get(keyOf(identity)) ?? null,
    parkedId({ caller, same }) {
      for (const { identity, isParked } of calls.values())
        if (isParked && identity.caller === caller && identity.same() === same())
          return identity.callId;
      return null;
    },
    begin: (identity, provider) => beginCall({ hub, calls, beingAsked }, identity, provider),
  };
}

interface Gateway {
  readonly hub: EventHub;
  readonly calls: Map<string, Kept>;
  readonly beingAsked: Set<string>;
}

function beginCall(
  gateway: Gateway,
  identity: CallIdentity,
  { send, cancel }: Provider,
): PendingCall {
  const { calls } = gateway;
  const ended = new AbortController();
  let open: Question | null = null;
  let isAwaited = false;
  let isParked = false;
  let isOver = false;
  const clock = startClock();
  clock.late.catch(() => {
    ended.abort();
    cancel();
  });
  const questions = receiveQuestions(gateway, identity, () => clock.stop());
  const forget = (): void => {
    calls.delete(keyOf(identity));
    questions.forget();
  };
  const timeoutMs = QUESTION_MS + callTool.timeoutMs;
  const reply = Promise.race([send({ signal: ended.signal, timeoutMs }), clock.late]).finally(
    () => {
      isOver = true;
      clock.stop();
      questions.stop();
      if (!isAwaited) setTimeout(forget, UNCLAIMED_MS).unref();
    },
  );
  reply.catch(() => {}); // The next request receives the error.
  const pending: Kept = {
    identity,
    get open() {
      return open;
    },
    get isParked() {
      return isParked;
    },
    park() {
      isParked = true;
    },
    async next() {
      isAwaited = true;
      try {
        const first = questions.isWaiting() ? null : await Promise.race([reply, questions.next()]);
        open = first === null ? questions.take() : null;
        if (open !== null) return { kind: "question", question: open };
        const end = first ?? (await reply);
        forget();
        return { kind: "reply", reply: end };
      } catch (error) {
        forget();
        throw error;
      } finally {
        isAwaited = false;
      }
    },
    resume() {
      open = null;
      if (!questions.isWaiting() && !isOver) clock.start();
    },
    abandon() {
      ended.abort();
      forget();
    },
  };
  calls.set(keyOf(identity), pending);
  return pending;
}

/** The questions that the server asks the caller while a call is under way. */
function receiveQuestions(
  { hub, beingAsked }: Gateway,
  { caller, server }: CallIdentity,
  onQuestion: () => void,
) {
  const received: string[] = [];
  const waiting: Question[] = [];
  let arrival = Promise.withResolvers<null>();
  const prefix = `yard.evt.mcp-question.${caller}.`;
  const stop = hub.onEvent(({ subject, payload }) => {
    if (!subject.startsWith(prefix) || !subject.endsWith(".requested")) return;
    const question = questionRequested.payload.safeParse(payload).data?.question;
    if (question === undefined || question.server !== server || beingAsked.has(question.id)) return;
    beingAsked.add(question.id);
    received.push(question.id);
    waiting.push(question);
    onQuestion();
    arrival.resolve(null);
  });
  return {
    stop,
    isWaiting: () => waiting.length > 0,
    /** Resolves when a question has arrived. */
    next: () => arrival.promise,
    take(): Question | null {
      arrival = Promise.withResolvers();
      return waiting.shift() ?? null;
    },
    /** Other calls of the same caller may receive these questions afterwards. */
    forget(): void {
      for (const id of received) beingAsked.delete(id);
    },
  };
}

/** Counts the server's time, without that of a person. */
function startClock() {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const { timeoutMs } = callTool;
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => clearTimeout(timer);
  const start = (): void => {
    stop();
    timer = setTimeout(() => {
      const text = `MCP tool call timed out after ${timeoutMs}ms`;
      reject(new ServiceError("tool_timeout", text, { data: { timeoutMs } }));
    }, timeoutMs).unref();
  };
  start();
  return { late, start, stop };
}

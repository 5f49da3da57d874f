import { questionRequested, type Question } from "@switchyard/contracts/mcp-questions";
import { ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp";
import type { z } from "zod";
import type { McpParts } from "./tool-call.ts";

type Reply = z.output<typeof callTool.reply>;

/** What a call under way comes to next. */
export type Step =
  | { readonly kind: "reply"; readonly reply: Reply }
  | { readonly kind: "question"; readonly question: Question };

/** A call of an MCP server's tool that is under way, and outlives the request of a client that is asked a question meanwhile. */
export interface PendingCall {
  /** The question that waits for an answer; null when none does. */
  readonly open: Question | null;
  /** Resolves with the reply or with the next question; rejects with what the call met. */
  next(): Promise<Step>;
  /** The open question is answered elsewhere: the same call made again waits on for this one. */
  park(): void;
  /** The open question was answered: the server's own time counts again. */
  resume(): void;
  /** Ends the wait here; the broker is asked to cancel by the caller. */
  abandon(): void;
}

export interface CallIdentity {
  readonly caller: string;
  readonly callId: string;
  /** Equal for calls of the same tool with the same arguments. */
  readonly same: string;
  /** The MCP server whose tool is called. */
  readonly server: string;
}

/** How long a person has for the questions of one call, in milliseconds. */
export const QUESTION_MS = 10 * 60_000;
/** A result that no request waits for is stored this long. */
const UNCLAIMED_MS = 5 * 60_000;

interface Kept extends PendingCall {
  readonly identity: CallIdentity;
  readonly isParked: boolean;
}

const calls = new Map<string, Kept>();
/** Questions that a client was given: concurrent calls of the same caller receive the same events. */
const beingAsked = new Set<string>();

const keyOf = ({ caller, callId }: Pick<CallIdentity, "caller" | "callId">): string =>
  `${caller} ${callId}`;

/** The caller's call with this id that is under way at this replica. */
export function pendingCall(identity: Pick<CallIdentity, "caller" | "callId">): PendingCall | null {
  return calls.get(keyOf(identity)) ?? null;
}

/** The id of a call of the same tool with the same arguments that waits for an answer given elsewhere; null when there is none. */
export function parkedCallId({
  caller,
  same,
}: Pick<CallIdentity, "caller" | "same">): string | null {
  const found = [...calls.values()].find(
    ({ identity, isParked }) => isParked && identity.caller === caller && identity.same === same,
  );
  return found?.identity.callId ?? null;
}

/** Sends a call, and receives the questions that its server asks this caller meanwhile. */
export function beginCall(
  identity: CallIdentity,
  hub: McpParts["hub"],
  {
    send,
    cancel,
  }: {
    /** The time leaves a person some for an answer; the server's own is counted here. */
    readonly send: (limits: {
      readonly signal: AbortSignal;
      readonly timeoutMs: number;
    }) => Promise<Reply>;
    /** Ends the call at the broker when the server's time is over. */
    readonly cancel: () => void;
  },
): PendingCall {
  const { caller, server } = identity;
  const ended = new AbortController();
  const received: Question[] = [];
  const waiting: Question[] = [];
  let open: Question | null = null;
  let isAwaited = false;
  let isParked = false;
  let isOver = false;
  let arrival = Promise.withResolvers<void>();
  const clock = startClock();
  clock.late.catch(cancel);
  const prefix = `yard.evt.mcp-question.${caller}.`;
  const stopEvents = hub.onEvent(({ subject, payload }) => {
    if (!subject.startsWith(prefix) || !subject.endsWith(".requested")) return;
    const question = questionRequested.payload.safeParse(payload).data?.question;
    if (question === undefined || question.server !== server || beingAsked.has(question.id)) return;
    beingAsked.add(question.id);
    received.push(question);
    waiting.push(question);
    clock.stop();
    arrival.resolve();
  });
  const forget = (): void => {
    calls.delete(keyOf(identity));
    for (const { id } of received) beingAsked.delete(id);
  };
  const timeoutMs = QUESTION_MS + callTool.timeoutMs;
  const reply = Promise.race([send({ signal: ended.signal, timeoutMs }), clock.late]).finally(
    () => {
      isOver = true;
      clock.stop();
      stopEvents();
      ended.abort();
      if (!isAwaited) setTimeout(forget, UNCLAIMED_MS).unref();
    },
  );
  reply.catch(() => {}); // the next request receives it
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
        const come = arrival.promise.then((): null => null);
        const first = waiting.length > 0 ? null : await Promise.race([reply, come]);
        open = first === null ? (waiting.shift() ?? null) : null;
        arrival = Promise.withResolvers();
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
      if (waiting.length === 0 && !isOver) clock.start();
    },
    abandon() {
      ended.abort();
      forget();
    },
  };
  calls.set(keyOf(identity), pending);
  return pending;
}

/** Counts the time that a server has, without that of a person. */
function startClock() {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const { timeoutMs } = callTool;
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => clearTimeout(timer);
  const start = (): void => {
    stop();
    const text = `MCP tool call timed out after ${timeoutMs}ms`;
    const error = new ServiceError("tool_timeout", text, { data: { timeoutMs } });
    timer = setTimeout(() => reject(error), timeoutMs);
  };
  start();
  return { late, start, stop };
}

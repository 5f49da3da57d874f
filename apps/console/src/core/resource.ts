import type { Operation, Reply, Request } from "@switchyard/client/client";
import type { StreamMessage } from "@switchyard/client/follow";
import type { Problem } from "@switchyard/client/problem-error";
import { useEffect, useRef, useState } from "preact/hooks";
import { onLive, type Topic } from "./live.ts";
import { client, may, problemOf } from "./session.ts";
import { toast } from "./toasts.ts";

/** The last reply to a request, and whether it is being repeated. */
export interface Resource<T> {
  readonly data: T | null;
  readonly problem: Problem | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** A reply is requested again this long after an event: events come in bursts. */
const AGAIN_AFTER_MS = 700;
/** A busy service, for example one that still handles the previous text, is retried automatically. */
export const BUSY = 429;
export const AGAIN_WHEN_BUSY_MS = 1_500;

/**
 * The reply of an operation, refreshed when the request changes and when an event concerns its topics: soon after the first event, and
 * then at most every `atMostEveryMs`, so that a busy hour costs a page that is left open no more than a quiet one. Without the right to it the
 * result is a problem `forbidden`, without a request. `null` in place of a request sends nothing yet.
 */
export function useResource<Op extends Operation>(
  operation: Op,
  request: Request<Op> | null,
  topics: readonly Topic[] = [],
  atMostEveryMs: number = AGAIN_AFTER_MS,
): Resource<Reply<Op>> {
  const [state, setState] = useState<Omit<Resource<Reply<Op>>, "reload">>(LOADING);
  const [round, setRound] = useState(0);
  const shownFor = useRef("");
  const key = request === null ? null : `${operation} ${JSON.stringify(request)}`;
  const stopper = useRef(new AbortController());
  const requestedAt = useRef(0);
  const sent = useRef(0);
  const answered = useRef(0);
  // A request in progress is aborted when the request changes, not when it is refreshed: events may come faster than replies.
  useEffect(() => {
    stopper.current = new AbortController();
    return () => stopper.current.abort();
  }, [key]);
  useEffect(() => {
    if (request === null || key === null) return undefined;
    if (!may(operation)) {
      setState({ data: null, problem: forbidden(operation), isLoading: false });
      return undefined;
    }
    const { signal } = stopper.current;
    const isOther = shownFor.current !== key;
    setState((old) => (isOther ? LOADING : { ...old, isLoading: true }));
    shownFor.current = key;
    requestedAt.current = Date.now();
    sent.current += 1;
    const turn = sent.current;
    /** Replies may overtake each other; one that comes after that of a later request has older data. */
    const takes = (): boolean => {
      if (signal.aborted || turn < answered.current) return false;
      answered.current = turn;
      return true;
    };
    const load = async (): Promise<void> => {
      try {
        const data = await client.request(operation, request, { signal });
        if (takes()) setState({ data, problem: null, isLoading: turn < sent.current });
      } catch (error) {
        if (!takes()) return;
        const problem = problemOf(error);
        setState((old) => ({ data: old.data, problem, isLoading: false }));
        if (problem.status !== BUSY) return;
        const timer = setTimeout(() => setRound((n) => n + 1), AGAIN_WHEN_BUSY_MS);
        signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
      }
    };
    void load();
    return undefined;
  }, [key, round]);
  useEffect(() => {
    if (topics.length === 0) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onLive((topic, message) => {
      if (message !== null && (!topics.includes(topic) || isOfOtherRun(message, request))) return;
      timer ??= setTimeout(
        () => {
          timer = undefined;
          setRound((n) => n + 1);
        },
        Math.max(AGAIN_AFTER_MS, requestedAt.current + atMostEveryMs - Date.now()),
      );
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [topics.join(" "), key]);
  // Without a request nothing is loading.
  return {
    ...state,
    isLoading: request !== null && state.isLoading,
    reload: () => setRound((n) => n + 1),
  };
}

/** True for an event of a run other than the one that the request names. */
function isOfOtherRun({ data }: StreamMessage, request: object | null): boolean {
  const { path }: { path?: { runId?: string } } = request ?? {};
  const { runId: changed } = (data ?? {}) as { runId?: unknown };
  if (path?.runId === undefined || typeof changed !== "string") return false;
  // An address may have the id without its owner.
  return changed !== path.runId && !changed.endsWith(`~${path.runId}`);
}

/** Reloads at this interval while the page is visible: for data that has no events. */
export function useAgainEvery({ reload }: { readonly reload: () => void }, ms: number): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") reload();
    }, ms);
    return () => clearInterval(timer);
  }, []);
}

/** Performs a change and shows its result in a toast. True when it was done. */
export async function act(done: string, action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    if (done !== "") toast({ text: done, tone: "good" });
    return true;
  } catch (error) {
    const { detail, next, requestId } = problemOf(error);
    const more = [next, requestId === "" ? undefined : `Request ${requestId}`];
    toast({ text: detail, more: more.filter((one) => one !== undefined).join(" · "), tone: "bad" });
    return false;
  }
}

const LOADING = { data: null, problem: null, isLoading: true } as const;

function forbidden(operation: Operation): Problem {
  const detail = `Your credential may not use ${operation}.`;
  return { status: 403, code: "forbidden", detail, requestId: "" };
}

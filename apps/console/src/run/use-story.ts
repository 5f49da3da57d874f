import type { RunMessage, StreamMessage } from "@switchyard/client/follow";
import { useEffect, useMemo, useState } from "preact/hooks";
import { isShown, onLive } from "../core/live.ts";
import { callerName, client, problemOf } from "../core/session.ts";
import { shareStream } from "../core/shared-stream.ts";
import { toast } from "../core/toasts.ts";
import { RunStory, type StorySoFar } from "./run-story.ts";

/**
 * Follows the run; the page is rendered at most once a frame, however fast events arrive. Each rendering gets a new object:
 * components with a state of their own skip rendering when they get the same one.
 */
export function useStory(runId: string): StorySoFar {
  const story = useMemo(() => new RunStory(), [runId]);
  const [round, setRound] = useState(0);
  const last = useMemo(() => ({ current: 0 }), [runId]);
  const isFollowed = isShown.value;
  useEffect(() => {
    if (!isFollowed) return undefined;
    const stop = new AbortController();
    let isDue = false;
    const draw = (): void => {
      if (isDue) return;
      isDue = true;
      // A hidden tab has no frames.
      setTimeout(() => {
        isDue = false;
        setRound((n) => n + 1);
      }, 16);
    };
    // A stream of events ends with the run; a retried run continues, whichever client retried it.
    let goesOn = Promise.withResolvers<void>();
    const stopLive = onLive((topic, message) => {
      // Null: something may have been missed.
      if (message === null || (topic === "run" && isRetryOf(message, runId))) goesOn.resolve();
    });
    const take = (message: RunMessage): void => {
      if (message.id !== null && message.id <= last.current) return;
      last.current = message.id ?? last.current;
      story.take(message);
      draw();
    };
    const behind = () => ({
      signal: stop.signal,
      ...(last.current > 0 && { after: last.current }),
    });
    const follow = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        await shareStream<RunMessage>({
          name: `run ${runId} of ${callerName()}`,
          signal: stop.signal,
          read: () => client.followRun(runId, behind()),
          take,
          async catchUp() {
            const stored = client.followRun(runId, { ...behind(), stopAtEnd: true });
            for await (const message of stored) take(message);
          },
        });
        await goesOn.promise;
        goesOn = Promise.withResolvers();
      }
    };
    follow().catch((error: unknown) => {
      const { status, detail } = problemOf(error);
      if (!stop.signal.aborted && status !== 404) toast({ text: detail, tone: "bad" });
    });
    return () => {
      stopLive();
      stop.abort();
      goesOn.resolve();
    };
  }, [runId, isFollowed]);
  return useMemo((): StorySoFar => Object.assign({}, story), [story, round]);
}

function isRetryOf({ event, data }: StreamMessage, runId: string): boolean {
  return event === "retried" && (data as { runId: string }).runId === runId;
}

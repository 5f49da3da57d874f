import { useEffect, useMemo, useState } from "preact/hooks";
import { client, problemOf } from "../core/session.ts";
import { toast } from "../core/toasts.ts";
import { RunStory, type StorySoFar } from "./run-story.ts";

/**
 * Follows the run; the page is drawn anew at most once a frame, however fast events come. Each time it is another object: parts
 * of the page that have a state of their own are left as they are when they are given the same one.
 */
export function useStory(runId: string): StorySoFar {
  const story = useMemo(() => new RunStory(), [runId]);
  const [round, setRound] = useState(0);
  useEffect(() => {
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
    const follow = async (): Promise<void> => {
      // A run that was retried goes on after its end.
      for await (const message of client.followRun(runId, { signal: stop.signal })) {
        story.take(message);
        draw();
      }
    };
    follow().catch((error: unknown) => {
      const { status, detail } = problemOf(error);
      if (!stop.signal.aborted && status !== 404) toast({ text: detail, tone: "bad" });
    });
    return () => stop.abort();
  }, [runId]);
  return useMemo((): StorySoFar => Object.assign({}, story), [story, round]);
}

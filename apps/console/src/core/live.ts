import type { FollowState, StreamMessage } from "@switchyard/client/follow";
import { effect, signal } from "@preact/signals";
import { wantsNotes } from "./notify.ts";
import { client, session } from "./session.ts";

/** The subject of an event, as far as lists are concerned. */
export type Topic = "run" | "approval" | "session" | "server" | "schedule" | "policy" | "other";

/** State of the stream that brings changes to the page as they happen. */
export const liveState = signal<FollowState>("connecting");

type Listener = (topic: Topic, message: StreamMessage | null) => void;
const listeners = new Set<Listener>();

/** A hidden tab without notifications closes its connection after this time: a browser has only six for one address. */
const HIDDEN_MS = 20_000;

/** Subscribes to every event; the listener gets `null` after a cut, when some may have been missed. */
export function onLive(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** One stream for everything that the page shows, while a person is signed in and the page is visible. */
export function startLive(): void {
  const isVisible = signal(document.visibilityState === "visible");
  let hiding: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.visibilityState === "visible") isVisible.value = true;
    else if (!wantsNotes.value)
      hiding = setTimeout(() => void (isVisible.value = false), HIDDEN_MS);
  });
  let lastId: string | null = null;
  effect(() => {
    if (session.value.phase !== "signed-in" || !isVisible.value) return undefined;
    if (!session.value.me.may.includes("GET /events")) return undefined;
    const stop = new AbortController();
    void read(stop.signal);
    return () => stop.abort();
  });
  async function read(ending: AbortSignal): Promise<void> {
    let opened = lastId === null ? 0 : 1;
    const options = {
      signal: ending,
      ...(lastId !== null && { after: lastId }),
      onState(state: FollowState) {
        liveState.value = state;
        if (state === "live" && (opened += 1) > 1) tell("other", null);
      },
    };
    try {
      for await (const message of client.followEvents({}, options)) {
        lastId = message.id ?? lastId;
        tell(topicOf(message), message);
      }
    } catch {
      liveState.value = "waiting";
    }
  }
}

function tell(topic: Topic, message: StreamMessage | null): void {
  for (const listener of listeners) listener(topic, message);
}

function topicOf({ data }: StreamMessage): Topic {
  if (typeof data !== "object" || data === null) return "other";
  if ("approvalId" in data) return "approval";
  // Checked before runs: a session's message names the run that answers it.
  if ("sessionId" in data && "owner" in data) return "session";
  if ("jobId" in data) return "schedule";
  if ("runId" in data) return "run";
  // Stops, and their ends.
  if ("scope" in data && "by" in data) return "policy";
  return "server" in data || "serverId" in data ? "server" : "other";
}

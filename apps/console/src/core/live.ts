import type { FollowState, StreamMessage } from "@switchyard/client/follow";
import { computed, effect, signal } from "@preact/signals";
import { wantsNotes } from "./notify.ts";
import { client, session } from "./session.ts";
import { shareStream } from "./shared-stream.ts";

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

const isVisible = signal(document.visibilityState === "visible");

/** False for a tab that has been hidden for a while; streams are closed then. */
export const isShown = computed(() => isVisible.value);

/** A message of the stream, or its state. */
type Passed = { readonly message: StreamMessage } | { readonly state: FollowState };

/** One stream for everything that the tabs of the browser show, while a person is signed in and a tab is visible. */
export function startLive(): void {
  let hiding: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.visibilityState === "visible") isVisible.value = true;
    else hiding = setTimeout(() => void (isVisible.value = false), HIDDEN_MS);
  });
  let lastId: string | null = null;
  let hasBegun = false;
  effect(() => {
    if (session.value.phase !== "signed-in") return undefined;
    if (!isVisible.value && !wantsNotes.value) return undefined;
    if (!session.value.me.may.includes("GET /events")) return undefined;
    const stop = new AbortController();
    void follow(session.value.me.caller, stop.signal);
    return () => stop.abort();
  });
  const take = (passed: Passed): void => {
    if ("state" in passed) {
      liveState.value = passed.state;
      // Events may have been missed before this, the first time since what the page loaded meanwhile.
      if (passed.state === "live") notify("other", null);
      hasBegun = true;
      return;
    }
    const { message } = passed;
    lastId = message.id ?? lastId;
    if (liveState.value !== "live") liveState.value = "live";
    notify(topicOf(message), message);
  };
  async function follow(caller: string, ending: AbortSignal): Promise<void> {
    try {
      await shareStream<Passed>({
        name: `events of ${caller}`,
        signal: ending,
        read: () => passedEvents(lastId, ending),
        take,
        // The tab that reads has an open stream, or reports that it has none. A page that has just begun has missed nothing.
        catchUp: async () => {
          if (hasBegun) take({ state: "live" });
          else liveState.value = "live";
          hasBegun = true;
        },
      });
    } catch {
      liveState.value = "waiting";
    }
  }
}

/** The events and the states of the stream, in their order. */
async function* passedEvents(after: string | null, ending: AbortSignal): AsyncGenerator<Passed> {
  const states: FollowState[] = [];
  let changed = Promise.withResolvers<null>();
  const onState = (state: FollowState): void => {
    states.push(state);
    changed.resolve(null);
  };
  const events = client.followEvents({}, { signal: ending, onState, ...(after && { after }) });
  let next = events.next();
  while (!ending.aborted) {
    const found = await Promise.race([next, changed.promise]);
    if (found === null) changed = Promise.withResolvers();
    for (const state of states.splice(0)) yield { state };
    if (found === null) continue;
    if (found.done) return;
    yield { message: found.value };
    next = events.next();
  }
}

function notify(topic: Topic, message: StreamMessage | null): void {
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

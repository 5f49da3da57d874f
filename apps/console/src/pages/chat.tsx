import type { Session, SessionMessage } from "@switchyard/client/operations";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count, numberText } from "../core/format.ts";
import { act, useResource } from "../core/resource.ts";
import { navigate } from "../core/router.ts";
import { client, may } from "../core/session.ts";
import { TurnCard } from "../run/conversation.tsx";
import { RunStory } from "../run/run-story.ts";
import { CopyButton } from "../ui/copy.tsx";
import { ask } from "../ui/dialog.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { said } from "../ui/statuses.ts";
import { Time } from "../ui/time.tsx";
import { MessageComposer } from "./message-composer.tsx";

export function Chat({ params }: { params: Readonly<Record<string, string>> }) {
  const key = params["session"] ?? "";
  const sessions = useResource("GET /sessions", { query: { limit: 100 } }, ["session"]);
  const current = sessions.data?.sessions.find((one) => one.key === key) ?? null;
  return (
    <Page
      title={current?.label ?? (key === "" ? "Chat" : key)}
      about="Conversations with agents: each message is a run with the conversation so far."
      cli={key === "" ? "yard sessions list" : `yard sessions show ${key}`}
      nats="nats sub 'yard.evt.session.>'"
      actions={current !== null && <SessionActions session={current} />}
    >
      {key !== "" && (
        <a class="button small back" href="/chat">
          ← Back to the list
        </a>
      )}
      <div class={`split has-detail approvals ${key === "" ? "" : "is-opened"}`}>
        <div class="side list">
          {may("POST /sessions/{session}/messages") && (
            <a class="button" href="/chat" data-testid="new-chat">
              New conversation
            </a>
          )}
          <ResourceView
            of={sessions}
            empty={(data) =>
              data.sessions.length > 0 ? null : <p>No conversation yet. Say something.</p>
            }
          >
            {(data) => (
              <ul class="inbox" aria-label="Conversations" data-testid="sessions">
                {data.sessions.map((one) => (
                  <li key={one.sessionId}>
                    <button
                      type="button"
                      aria-pressed={one.key === key}
                      onClick={() => navigate(`/chat/${encodeURIComponent(one.key)}`)}
                    >
                      <strong>{one.label ?? one.key}</strong>
                      <span class="quiet">
                        {one.agent} · {count(one.messages, "message")} · <Time at={one.updatedAt} />
                      </span>
                    </button>
                  </li>
                ))}
              </ul>
            )}
          </ResourceView>
        </div>
        <Conversation key={key} sessionKey={key} session={current} />
      </div>
    </Page>
  );
}

function SessionActions({ session }: { session: Session }) {
  const { key, activeRun } = session;
  const path = { session: key };
  const reset = async (): Promise<void> => {
    const answer = await ask({
      title: `Forget what was said in ${session.label ?? key}?`,
      text: `${count(session.messages, "message")} will be gone, and the run under way is cancelled. The name stays.`,
      action: "Forget it",
      isDangerous: true,
    });
    if (answer === null) return;
    await act(`${key} is empty`, () =>
      client.request("POST /sessions/{session}/reset", { path, body: {} }),
    );
  };
  const rename = async (): Promise<void> => {
    const label = await ask({
      title: `Name ${key}`,
      text: "Only how it is shown changes.",
      action: "Rename",
      input: { label: "Name", value: session.label ?? "" },
    });
    if (label === null || label.trim() === "") return;
    await act("Renamed", () =>
      client.request("PATCH /sessions/{session}", { path, body: { label: label.trim() } }),
    );
  };
  const stop = (): Promise<boolean> =>
    act("The run is being cancelled", () =>
      client.request("POST /runs/{runId}/cancel", { path: { runId: activeRun ?? "" }, body: {} }),
    );
  return (
    <>
      {may("POST /runs/{runId}/cancel") && (
        <button
          type="button"
          class="button danger"
          data-testid="stop"
          disabled={activeRun === null}
          onClick={() => void stop()}
        >
          Stop
        </button>
      )}
      <CopyButton text={`${location.origin}/chat/${encodeURIComponent(key)}`} label="Copy link" />
      {may("PATCH /sessions/{session}") && (
        <button type="button" class="button" onClick={() => void rename()}>
          Rename
        </button>
      )}
      {may("POST /sessions/{session}/reset") && (
        <button type="button" class="button" onClick={() => void reset()}>
          Forget
        </button>
      )}
    </>
  );
}

interface Props {
  readonly sessionKey: string;
  readonly session: Session | null;
}

/** A reader who scrolled further up than this is not moved when a message arrives. */
const NEAR_END_PX = 60;

function Conversation({ sessionKey, session }: Props) {
  const history = useResource(
    "GET /sessions/{session}/history",
    session === null ? null : { path: { session: sessionKey }, query: { limit: 300 } },
    ["session"],
  );
  const [runId, setRunId] = useState<string | null>(null);
  const [sent, setSent] = useState<string | null>(null);
  const active = session?.activeRun ?? runId;
  const story = useLiveRun(active);
  const messages = history.data?.messages ?? [];
  const isInHistory = messages.some(
    (message) => message.runId === active && message.role !== "user",
  );
  const isUnderWay = story !== null && !isInHistory;
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current) box.current?.scrollTo(0, box.current.scrollHeight);
  });
  return (
    <section class="chat" aria-label="Conversation">
      <div
        ref={box}
        class="conversation"
        data-testid="conversation"
        role="log"
        aria-label="What was said"
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
        }}
      >
        {history.problem !== null && <p class="note bad">{history.problem.detail}</p>}
        {history.data?.truncated === true && <p class="quiet">Earlier messages are left out.</p>}
        {messages.map((message, index) => (
          <Message key={`${message.runId} ${index}`} message={message} />
        ))}
        {sent !== null && !messages.some((one) => one.runId === runId) && (
          <article class="turn person">
            <h3>You</h3>
            <p class="text">{sent}</p>
          </article>
        )}
        {isUnderWay &&
          story.turns.map((turn) => (
            <TurnCard key={turn.id} turn={turn} name={session?.agent ?? "agent"} />
          ))}
        {messages.length === 0 && story === null && sent === null && (
          <Empty>
            <p>Say something below. Type a slash to see skills, agents and commands.</p>
          </Empty>
        )}
      </div>
      <p class="quiet chat-state">
        {isUnderWay && (
          <>
            <Status is={story.status} />{" "}
            <a href={`/runs/${encodeURIComponent(active ?? "")}`}>the run</a>
            {story.waits.length > 0 && " waits: look at the run"}
          </>
        )}
      </p>
      {may("POST /sessions/{session}/messages") ? (
        <MessageComposer
          sessionKey={sessionKey}
          session={session}
          onSaid={(text, id) => {
            setSent(text);
            setRunId(id);
          }}
        />
      ) : (
        <p class="quiet">Your credential may read conversations, not take part.</p>
      )}
      {session !== null && (
        <p class="quiet">
          {numberText(session.totalTokens)} tokens · ends <Time at={session.endsAt} /> unless used
        </p>
      )}
    </section>
  );
}

function Message({ message }: { message: SessionMessage }) {
  const { role, text, by, runId, sendId, at } = message;
  if (role === "tool") return null;
  return (
    <article
      class={`turn ${role === "user" ? "person" : "model"}`}
      data-testid="turn"
      data-status={said("turn", role)}
    >
      <h3>
        {role === "user" ? (by ?? "you") : role} ·{" "}
        {sendId === undefined ? (
          <a href={`/runs/${encodeURIComponent(runId)}`}>
            <Time at={at} />
          </a>
        ) : (
          <Time at={at} />
        )}
      </h3>
      {role === "assistant" ? <Markdown text={text} /> : <p class="text">{text}</p>}
    </article>
  );
}

/** The current run, with text as it is written. */
function useLiveRun(runId: string | null): RunStory | null {
  const story = useMemo(() => (runId === null ? null : new RunStory()), [runId]);
  const [, setRound] = useState(0);
  useEffect(() => {
    if (runId === null || story === null) return undefined;
    const stop = new AbortController();
    const follow = async (): Promise<void> => {
      for await (const message of client.followRun(runId, { signal: stop.signal })) {
        story.take(message);
        setRound((n) => n + 1);
      }
    };
    follow().catch(() => {});
    return () => stop.abort();
  }, [runId]);
  return story;
}

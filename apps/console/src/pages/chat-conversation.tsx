import type { Session, SessionMessage } from "@switchyard/client/operations";
import { useEffect, useRef, useState } from "preact/hooks";
import { numberText } from "../core/format.ts";
import { useResource } from "../core/resource.ts";
import { may } from "../core/session.ts";
import { Markdown } from "../ui/markdown.tsx";
import { Empty } from "../ui/resource-view.tsx";
import { said } from "../ui/statuses.ts";
import { Time } from "../ui/time.tsx";
import { ChatRun, PersonTurn } from "./chat-run.tsx";
import { MessageComposer } from "./message-composer.tsx";
import { sentMessages, type SentMessage } from "./sent-messages.ts";

interface Props {
  readonly sessionKey: string;
  /** Null before the first message. */
  readonly session: Session | null;
}

/** A reader who scrolled further up than this is not moved when a message arrives. */
const NEAR_END_PX = 60;

/** The messages of a conversation, the run that answers the last one, and the field for the next one. */
export function Conversation({ sessionKey, session }: Props) {
  const history = useResource(
    "GET /sessions/{session}/history",
    session === null ? null : { path: { session: sessionKey }, query: { limit: 300 } },
    ["session"],
  );
  const messages = history.data?.messages ?? [];
  const isOver = (runId: string): boolean =>
    messages.some((one) => one.runId === runId && one.role !== "user" && one.sendId === undefined);
  const sent = sentMessages.value.filter(
    (one) => one.sessionKey === sessionKey && (one.runId === null || !isOver(one.runId)),
  );
  // Without a run under way the last message is on its way to become one.
  const next = session === null ? sent[0] : sent.at(-1);
  const followed = useFollowed(session?.activeRun ?? next?.runId ?? null);
  const runId = followed === null || isOver(followed) ? null : followed;
  const waiting = sent.filter((one) => one.runId === null || one.runId !== runId);
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const content = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The content grows by messages, by a text as it is written, and by calls that wait.
    const sizes = new ResizeObserver(() => {
      if (isAtEnd.current) box.current?.scrollTo(0, box.current.scrollHeight);
    });
    if (content.current !== null) sizes.observe(content.current);
    return () => sizes.disconnect();
  }, []);
  return (
    <section class="chat opened" aria-label="Conversation">
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
        <div ref={content} class="turns">
          {history.problem !== null && <p class="note bad">{history.problem.detail}</p>}
          {history.data?.truncated === true && <p class="quiet">Earlier messages are left out.</p>}
          {messages
            .filter((one) => one.runId !== runId || one.sendId !== undefined)
            .map((message, index) => (
              <Message
                key={`${message.runId} ${index}`}
                message={message}
                agent={session?.agent ?? "agent"}
              />
            ))}
          {runId !== null && (
            <ChatRun
              key={runId}
              runId={runId}
              agent={session?.agent ?? sent[0]?.agent ?? ""}
              sent={sent.find((one) => one.runId === runId) ?? null}
            />
          )}
          {waiting.map((one) => (
            <Waiting key={one.id} message={one} />
          ))}
          {messages.length === 0 && runId === null && sent.length === 0 && (
            <Empty>
              <p>Write a message below. Type a slash to see skills, agents and commands.</p>
            </Empty>
          )}
        </div>
      </div>
      {may("POST /sessions/{session}/messages") ? (
        <MessageComposer
          sessionKey={sessionKey}
          session={session}
          onSent={() => {
            isAtEnd.current = true;
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

/** The run to follow: the last one that was active, until the history has its answer. */
function useFollowed(active: string | null): string | null {
  const [followed, setFollowed] = useState(active);
  useEffect(() => {
    if (active !== null) setFollowed(active);
  }, [active]);
  return active ?? followed;
}

/** A message that was not answered yet: it is on its way, or another one of the conversation has its turn. */
function Waiting({ message }: { message: SentMessage }) {
  return (
    <>
      <PersonTurn by="You" text={message.text} files={message.files} />
      <p class="quiet chat-state">{message.runId === null ? "Sending…" : "Waits for its turn."}</p>
    </>
  );
}

function Message({ message, agent }: { message: SessionMessage; agent: string }) {
  const { role, text, by, runId, sendId, at, files } = message;
  if (role === "tool") return null;
  if (role === "user")
    return <PersonTurn by={by ?? "You"} text={textOf(message)} files={files ?? []} />;
  return (
    <article class="turn model" data-testid="turn" data-status={said("turn", role)}>
      <h3>
        {role === "assistant" ? (message.agent ?? agent) : "Notice"} ·{" "}
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

/** The text of a message without the labels of its files, which are shown as chips. */
function textOf({ text, files = [] }: SessionMessage): string {
  return text
    .split("\n")
    .filter((line) => !files.some(({ name }) => line.startsWith(`[file ${name}, `)))
    .join("\n");
}

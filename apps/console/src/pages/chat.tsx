import type { Session } from "@switchyard/client/operations";
import { count } from "../core/format.ts";
import { act, useResource } from "../core/resource.ts";
import { filterOf, navigate } from "../core/router.ts";
import { client, may } from "../core/session.ts";
import { CopyButton } from "../ui/copy.tsx";
import { ask } from "../ui/dialog.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Time } from "../ui/time.tsx";
import { Conversation } from "./chat-conversation.tsx";

export function Chat({ params }: { params: Readonly<Record<string, string>> }) {
  const opened = params["session"] ?? "";
  const next = freshKey(opened);
  const key = opened === "" ? next : opened;
  const sessions = useResource("GET /sessions", { query: { limit: 100 } }, ["session"]);
  const current = sessions.data?.sessions.find((one) => one.key === key) ?? null;
  const mayTalk = may("POST /sessions/{session}/messages");
  // On a narrow screen the list and the conversation are pages of their own; without a list there is the conversation.
  const isNew = filterOf("new") !== "" || sessions.data?.sessions.length === 0;
  const isOpened = opened !== "" || (isNew && mayTalk);
  return (
    <Page
      title={current === null ? "Chat" : nameOf(current)}
      about="Conversations with agents: each message is a run with the conversation so far."
      cli={opened === "" ? "yard sessions list" : `yard sessions show ${opened}`}
      nats="nats sub 'yard.evt.session.>'"
      actions={current !== null && <SessionActions session={current} />}
    >
      {isOpened && (
        <a class="button small back" href="/chat" data-testid="back">
          ← Back to the list
        </a>
      )}
      <div class={`split has-detail approvals ${isOpened ? "is-opened" : ""}`}>
        <div class="side list">
          {mayTalk && (
            <a class="button" href="/chat?new=yes" data-testid="new-chat">
              New conversation
            </a>
          )}
          <ResourceView
            of={sessions}
            empty={(data) =>
              data.sessions.length > 0 ? null : <p>No conversation yet. Send a message.</p>
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
                      <strong class="clip">{nameOf(one)}</strong>
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

/** The name that a person gave it, else its first words. */
function nameOf({ label, title, key }: Session): string {
  return label ?? (title === undefined || title === "" ? key : title);
}

const fresh = { key: newKey(), isUsed: false };

/** The key of a conversation that begins with the next message; it stays while its first message is written. */
function freshKey(opened: string): string {
  if (opened === fresh.key) fresh.isUsed = true;
  if (opened === "" && fresh.isUsed) Object.assign(fresh, { key: newKey(), isUsed: false });
  return fresh.key;
}

function newKey(): string {
  return `chat-${crypto.randomUUID().slice(0, 8)}`;
}

function SessionActions({ session }: { session: Session }) {
  const { key, activeRun } = session;
  const path = { session: key };
  const reset = async (): Promise<void> => {
    const answer = await ask({
      title: `Forget what was said in ${nameOf(session)}?`,
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
      input: { label: "Name", value: session.label ?? session.title ?? "" },
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

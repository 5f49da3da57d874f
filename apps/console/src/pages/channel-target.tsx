import type { Address, ReadMessage, TargetKind } from "@switchyard/client/operations";
import type { Problem } from "@switchyard/client/problem-error";
import { useState } from "preact/hooks";
import { textsOf } from "../core/form.ts";
import { act, useResource, type Resource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { client, problemOf } from "../core/session.ts";
import { ResourceView } from "../ui/resource-view.tsx";
import { Time } from "../ui/time.tsx";

const KINDS: readonly TargetKind[] = ["user", "group", "channel"];

interface Props {
  readonly addressOf: (target: Address["target"]) => Address;
  readonly canRead: boolean;
  readonly canSend: boolean;
}

/** A person, group or channel to write with; the address of the page has it. */
export function ChannelTarget({ addressOf, canRead, canSend }: Props) {
  const kind = KINDS.find((one) => one === filterOf("kind")) ?? "user";
  const id = filterOf("to");
  const address = id === "" ? null : addressOf({ kind, id });
  const read = useResource(
    "POST /channels/messages/read",
    canRead && address !== null ? { body: { address, limit: 50 } } : null,
  );
  const choose = (event: SubmitEvent): void => {
    const text = textsOf(event);
    setFilter("kind", text("kind"));
    setFilter("to", text("to").trim());
    read.reload();
  };
  return (
    <>
      <h2>Messages</h2>
      <form class="filters" role="search" onSubmit={choose} data-testid="choose-target">
        <label>
          <span class="label">With</span>
          <input name="to" required defaultValue={id} maxLength={256} placeholder="its id there" />
        </label>
        <label>
          <span class="label">Kind</span>
          <select name="kind">
            {KINDS.map((one) => (
              <option key={one} value={one} selected={one === kind}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <button class="button">{canRead ? "Read" : "Choose"}</button>
      </form>
      {canRead && address !== null && <Messages of={read} />}
      {!canRead && <p class="quiet">The channel does not let messages be read again.</p>}
      {canSend && address !== null && (
        <Send key={`${kind} ${id}`} address={address} onSent={read.reload} />
      )}
    </>
  );
}

function Messages({ of }: { of: Resource<{ messages: ReadMessage[] }> }) {
  return (
    <ResourceView
      of={of}
      empty={({ messages }) => (messages.length > 0 ? null : <p>Nothing was written here yet.</p>)}
    >
      {({ messages }) => (
        <div class="conversation" data-testid="channel-messages" data-count={messages.length}>
          {messages.map(({ messageId, author, at, text, isOwn, attachments }) => (
            <article key={messageId} class={`turn ${isOwn ? "" : "person"}`}>
              <h3>
                {author.name ?? author.id} · <Time at={at} />
              </h3>
              <p class="text">{text}</p>
              {attachments.length > 0 && (
                <p class="quiet">
                  With{" "}
                  {attachments.map(({ name, mimeType }) => name ?? mimeType ?? "a file").join(", ")}
                </p>
              )}
            </article>
          ))}
        </div>
      )}
    </ResourceView>
  );
}

/** False when it surely was not: with the same key, the service would return the same failure for a day. */
function mayBeSent({ status, code }: Problem): boolean {
  return code === "still_sending" || status === 0 || (status >= 500 && code !== "provider_error");
}

function Send({ address, onSent }: { address: Address; onSent: () => void }) {
  const [text, setText] = useState("");
  const [isSending, setSending] = useState(false);
  // A retry of the same text stays the same message while its outcome is unknown.
  const [idempotencyKey, setKey] = useState(() => crypto.randomUUID());
  const change = (changed: string): void => {
    setText(changed);
    setKey(crypto.randomUUID());
  };
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setSending(true);
    const body = { to: address, text };
    const isDone = await act("The message is sent", async () => {
      try {
        await client.request("POST /channels/messages", { body, idempotencyKey });
      } catch (error) {
        if (!mayBeSent(problemOf(error))) setKey(crypto.randomUUID());
        throw error;
      }
    });
    setSending(false);
    if (!isDone) return;
    change("");
    onSent();
  };
  return (
    <form class="say" onSubmit={(event) => void send(event)} data-testid="send-message">
      <label class="field">
        <span class="visually-hidden">Message</span>
        <textarea
          rows={3}
          value={text}
          placeholder={`Message to ${address.target.id}`}
          onInput={(event) => change(event.currentTarget.value)}
        />
      </label>
      <div class="actions end">
        <button class="button primary" disabled={isSending || text.trim() === ""}>
          Send
        </button>
      </div>
    </form>
  );
}

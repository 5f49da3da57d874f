import type { AnswerContent, Question } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { act } from "../core/resource.ts";
import { useSeen } from "../core/seen.ts";
import { client, may } from "../core/session.ts";
import { initialOf, type FormSchema } from "../ui/form-schema.ts";
import { SchemaForm } from "../ui/schema-form.tsx";
import { Time } from "../ui/time.tsx";

type Action = "accept" | "decline" | "cancel";

/** A question of an MCP server with its form or its address. The words are the server's, and are shown as such. */
export function ServerQuestion({
  id,
  server,
  mode,
  message,
  form,
  url,
  askedFor,
  expiresAt,
}: Question) {
  const schema: FormSchema = {
    type: "object",
    properties: form?.fields ?? {},
    required: form?.required ?? [],
  };
  const [value, setValue] = useState(() => initialOf(schema, schema) as Record<string, unknown>);
  const isSeen = useSeen(id);
  const isAllowed = may("POST /mcp/questions/{id}/answer");
  const answer = async (action: Action): Promise<void> => {
    const content = action === "accept" && mode === "form" ? (value as AnswerContent) : undefined;
    const body = { action, ...(content !== undefined && { content }) };
    await act(DONE[action], () =>
      client.request("POST /mcp/questions/{id}/answer", { path: { id }, body }),
    );
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void answer("accept");
  };
  return (
    <form onSubmit={submit} data-testid="server-question">
      <h2>The MCP server {server} asks</h2>
      <p class="text">{message}</p>
      <p class="quiet">
        for {askedFor.map(({ agent, user }) => agent ?? user).join(", ")} · expires{" "}
        <Time at={expiresAt} /> · the server receives what you enter; a password does not belong
        here
      </p>
      {url !== null && (
        <p>
          It wants you to open an address of <strong>{hostOf(url)}</strong>:{" "}
          <a class="text" href={url} target="_blank" rel="noopener noreferrer">
            {url}
          </a>
        </p>
      )}
      {isAllowed && mode === "form" && (
        <SchemaForm schema={schema} value={value} onChange={setValue} />
      )}
      {isAllowed ? (
        <div class="actions decide">
          <button class="button primary" disabled={!isSeen}>
            {mode === "form" ? "Answer" : "I have opened it"}
          </button>
          <button
            type="button"
            class="button danger"
            disabled={!isSeen}
            onClick={() => void answer("decline")}
          >
            Decline
          </button>
          <button
            type="button"
            class="button"
            disabled={!isSeen}
            onClick={() => void answer("cancel")}
          >
            Close without an answer
          </button>
        </div>
      ) : (
        <p>A person with the role operator can answer.</p>
      )}
    </form>
  );
}

const DONE: Readonly<Record<Action, string>> = {
  accept: "Answered",
  decline: "Declined",
  cancel: "Closed without an answer",
};

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url;
}

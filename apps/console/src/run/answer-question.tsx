import { textsOf } from "../core/form.ts";
import { act } from "../core/resource.ts";
import { client, may } from "../core/session.ts";

interface Props {
  readonly runId: string;
  readonly callId: string;
  readonly options: readonly string[];
  /** The JSON Schema of the answer; undefined: any text. */
  readonly schema: Readonly<Record<string, unknown>> | undefined;
  /** False until the person had the time to see the question. */
  readonly isSeen: boolean;
}

/** A person answers a question of a run by one of its options, or with a text. */
export function AnswerQuestion({ runId, callId, options, schema, isSeen }: Props) {
  if (!may("POST /runs/{runId}/answers")) return <p>A person with the role operator can answer.</p>;
  const answer = async (given: string): Promise<void> => {
    const value: unknown = schema === undefined ? given : parsed(given);
    const body = { callId, answer: value as string };
    await act("Answered", () =>
      client.request("POST /runs/{runId}/answers", { path: { runId }, body }),
    );
  };
  if (options.length > 0)
    return (
      <div class="actions" data-testid="options">
        {options.map((option) => (
          <button
            key={option}
            type="button"
            class="button"
            disabled={!isSeen}
            onClick={() => void answer(option)}
          >
            {option}
          </button>
        ))}
      </div>
    );
  const submit = (event: SubmitEvent): void => {
    void answer(textsOf(event)("answer"));
  };
  return (
    <form class="inline" onSubmit={submit} data-testid="answer">
      <label class="field">
        <span>{schema === undefined ? "Answer" : "Answer, as JSON"}</span>
        <input name="answer" required />
      </label>
      <button class="button primary" disabled={!isSeen}>
        Answer
      </button>
    </form>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

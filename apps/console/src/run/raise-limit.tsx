import { useState } from "preact/hooks";
import { act } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { limitValue, limitWord, raisedLimit, type ReachedLimit } from "./limits.ts";

interface Props {
  readonly runId: string;
  readonly reached: ReachedLimit;
  /** `resume`: the run waits at the limit; `retry`: it failed there. */
  readonly how: "resume" | "retry";
}

const ACTIONS = {
  resume: { operation: "POST /runs/{runId}/resume", word: "continue" },
  retry: { operation: "POST /runs/{runId}/retry", word: "retry" },
} as const;

/** Raises the limit that a run reached and continues it, with one click; the proposed value can be changed. */
export function RaiseLimit({ runId, reached, how }: Props) {
  const proposed = raisedLimit(reached);
  const [value, setValue] = useState(proposed ?? reached.value);
  const { operation, word } = ACTIONS[how];
  if (reached.team !== undefined)
    return (
      <p>
        All runs of {reached.team.name} share this limit for one {reached.team.per}. It is counted
        anew with the next {reached.team.per}.
      </p>
    );
  if (!may(operation)) return <p>A person with the role operator can raise the limit.</p>;
  if (proposed === null) return <p>This is the greatest limit that a run may have.</p>;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const limits = { [reached.limit]: value };
    void act("The run continues", () =>
      client.request(operation, { path: { runId }, body: { limits } }),
    );
  };
  return (
    <form class="inline raise" onSubmit={submit} data-testid="raise-limit">
      <label class="field">
        <span>New limit of {limitWord(reached.limit)}</span>
        <input
          name="value"
          type="number"
          step="any"
          min={0}
          value={value}
          onInput={(event) => setValue(event.currentTarget.valueAsNumber || 0)}
          required
        />
      </label>
      <button class="button primary">
        Raise the limit to {limitValue(reached.limit, value)} and {word}
      </button>
    </form>
  );
}

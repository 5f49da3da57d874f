import type { StopScope } from "@switchyard/client/operations";
import { useEffect, useState } from "preact/hooks";
import { textsOf } from "../core/form.ts";
import { act } from "../core/resource.ts";
import { useSeen } from "../core/seen.ts";
import { client } from "../core/session.ts";

const KINDS = ["agent", "server", "user", "run", "all"] as const;
type Kind = (typeof KINDS)[number];

interface Props {
  readonly initial: Kind;
  /** False: stopping every call needs a check mark, too, since no dialog was opened for it. */
  readonly isInDialog?: boolean;
  readonly onStopped: () => void;
}

/** Stops the calls of one agent, server, user or run, or every call. */
export function StopForm({ initial, isInDialog = false, onStopped }: Props) {
  const [kind, setKind] = useState<Kind>(initial);
  const [isSure, setSure] = useState(false);
  useEffect(() => setSure(false), [kind]);
  // The second click of a double click was not meant for a button that has just appeared.
  const isSeen = useSeen("stop");
  const isReady = isInDialog ? isSeen : kind !== "all" || isSure;
  const submit = (event: SubmitEvent): void => {
    const text = textsOf(event);
    const scope = (kind === "all" ? { kind } : { kind, name: text("name") }) as StopScope; // each kind but all has a name
    const reason = text("reason").trim() || "stopped in the console";
    void act("Stopped", () =>
      client.request("POST /policy/stops", { body: { scope, reason } }),
    ).then((isDone) => isDone && onStopped());
  };
  return (
    <form class={isInDialog ? "" : "card"} onSubmit={submit}>
      {!isInDialog && <h2>Stop calls</h2>}
      <div class="columns fields">
        <label class="field">
          <span>Of</span>
          <select
            name="kind"
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value as Kind)}
          >
            {KINDS.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        {kind !== "all" && (
          <label class="field">
            <span>Name</span>
            <input name="name" required maxLength={100} />
          </label>
        )}
        <label class="field">
          <span>Reason</span>
          <input name="reason" required={!isInDialog} maxLength={300} />
        </label>
      </div>
      {kind === "all" && !isInDialog && (
        <label class="check">
          <input
            type="checkbox"
            checked={isSure}
            onChange={(event) => setSure(event.currentTarget.checked)}
          />
          Every call of everybody
        </label>
      )}
      <div class={`actions ${isInDialog ? "end" : ""}`}>
        <button class="button danger" disabled={!isReady} data-testid="stop-now">
          {isInDialog && kind === "all" ? "Stop all calls" : "Stop calls"}
        </button>
      </div>
    </form>
  );
}

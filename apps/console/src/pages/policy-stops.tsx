import type { StopScope } from "@switchyard/client/operations";
import { useEffect, useState } from "preact/hooks";
import { scopeText } from "../core/format.ts";
import { textsOf } from "../core/form.ts";
import { act, useResource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";

/** Stops, which override the rules. */
export function Stops() {
  const stops = useResource("GET /policy/stops", {}, ["policy"]);
  const resume = async (scope: StopScope): Promise<void> => {
    await act("Calls are allowed again", () =>
      client.request("POST /policy/stops/resume", { body: { scope } }),
    );
    stops.reload();
  };
  const submit = (event: SubmitEvent): void => {
    const text = textsOf(event);
    const kind = text("kind");
    const scope = (kind === "all" ? { kind } : { kind, name: text("name") }) as StopScope;
    void act("Stopped", () =>
      client.request("POST /policy/stops", { body: { scope, reason: text("reason") } }),
    ).then(stops.reload);
  };
  return (
    <>
      <p>A stop denies every call that it is about, at once, whatever the rules say.</p>
      <ResourceView
        of={stops}
        empty={(data) => (data.stops.length > 0 ? null : <p>Nothing is stopped.</p>)}
      >
        {(data) => (
          <ul class="lines card">
            {data.stops.map(({ scope, reason, by, at }) => (
              <li key={JSON.stringify(scope)}>
                <Status is="blocked">{scopeText(scope)}</Status>
                <span>
                  {reason}, by {by} <Time at={at} />
                </span>
                {may("POST /policy/stops/resume") && (
                  <button type="button" class="button small" onClick={() => void resume(scope)}>
                    Resume calls
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      </ResourceView>
      {may("POST /policy/stops") && <NewStop onSubmit={submit} />}
    </>
  );
}

function NewStop({ onSubmit }: { onSubmit: (event: SubmitEvent) => void }) {
  const [kind, setKind] = useState("agent");
  const [isSure, setSure] = useState(false);
  useEffect(() => setSure(false), [kind]);
  return (
    <form class="card" onSubmit={onSubmit}>
      <h2>Stop calls</h2>
      <div class="columns fields">
        <label class="field">
          <span>Of</span>
          <select name="kind" value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
            {["agent", "server", "user", "run", "all"].map((one) => (
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
          <input name="reason" required maxLength={500} />
        </label>
      </div>
      {kind === "all" && (
        <label class="check">
          <input
            type="checkbox"
            checked={isSure}
            onChange={(event) => setSure(event.currentTarget.checked)}
          />
          Every call of everybody
        </label>
      )}
      <div class="actions">
        <button class="button danger" disabled={kind === "all" && !isSure}>
          Stop calls
        </button>
      </div>
    </form>
  );
}

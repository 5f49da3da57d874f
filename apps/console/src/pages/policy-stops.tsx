import type { StopScope } from "@switchyard/client/operations";
import { scopeText } from "../core/format.ts";
import { act, useResource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { ResourceView } from "../ui/resource-view.tsx";
import { StopForm } from "../ui/stop-form.tsx";
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
      {may("POST /policy/stops") && <StopForm initial="agent" onStopped={stops.reload} />}
    </>
  );
}

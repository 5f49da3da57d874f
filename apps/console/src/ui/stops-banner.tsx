import { scopeText } from "../core/format.ts";
import { act, useAgainEvery, useResource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { ask } from "./dialog.tsx";

const SHOWN = 3;
/** Interval for callers who may not read the events of stops. */
const AGAIN_MS = 30_000;

/** A red bar on every page with an administrator's stops, as far as the caller may see them; empty while there are none. */
export function StopsBanner() {
  const stops = useResource("GET /policy/stops", may("GET /policy/stops") ? {} : null, ["policy"]);
  useAgainEvery(stops, AGAIN_MS);
  const activeStops = stops.data?.stops ?? [];
  const [only] = activeStops;
  if (only === undefined) return null;
  const more = activeStops.length - SHOWN;
  const resume = async (): Promise<void> => {
    const answer = await ask({
      title: `Allow ${scopeText(only.scope)} again?`,
      text: `Stopped by ${only.by}: ${only.reason}`,
      action: "Resume calls",
    });
    if (answer === null) return;
    await act("Calls are allowed again", () =>
      client.request("POST /policy/stops/resume", { body: { scope: only.scope } }),
    );
    stops.reload();
  };
  return (
    <section class="stops" role="status" data-testid="stops-banner">
      <p>
        <strong>Stopped:</strong>{" "}
        {activeStops
          .slice(0, SHOWN)
          .map(({ scope, reason }) => `${scopeText(scope)} (${reason})`)
          .join(", ")}
        {more > 0 && ` and ${more} more`}. <a href="/policy?view=stops">See the stops</a>
      </p>
      {activeStops.length === 1 && may("POST /policy/stops/resume") && (
        <button
          type="button"
          class="button small"
          onClick={() => void resume()}
          data-testid="resume"
        >
          Resume…
        </button>
      )}
    </section>
  );
}

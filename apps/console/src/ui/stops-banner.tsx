import { useAgainEvery, useResource } from "../core/resource.ts";
import { may } from "../core/session.ts";
import { scopeText } from "../core/format.ts";

const SHOWN = 3;
/** Interval for callers who may not read the events of stops. */
const AGAIN_MS = 30_000;

/** Shows on every page an administrator's stops, as far as the caller may see them; empty while there are none. */
export function StopsBanner() {
  const stops = useResource("GET /policy/stops", may("GET /policy/stops") ? {} : null, ["policy"]);
  useAgainEvery(stops, AGAIN_MS);
  const activeStops = stops.data?.stops ?? [];
  if (activeStops.length === 0) return null;
  const more = activeStops.length - SHOWN;
  return (
    <section class="note bad stops" role="status" data-testid="stops-banner">
      <p>
        <strong>Stopped:</strong>{" "}
        {activeStops
          .slice(0, SHOWN)
          .map(({ scope, reason }) => `${scopeText(scope)} (${reason})`)
          .join(", ")}
        {more > 0 && ` and ${more} more`}. <a href="/policy?view=stops">See the stops</a>
      </p>
    </section>
  );
}

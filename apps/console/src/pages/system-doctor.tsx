import type { Reply } from "@switchyard/client/client";
import { useResource, type Resource } from "../core/resource.ts";
import { may } from "../core/session.ts";
import { Loading } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { said } from "../ui/statuses.ts";
import { checksOf, type Looked } from "./system-checks.ts";

/** The checks of `yard doctor` that a browser can make: results and advice. */
export function Doctor(props: { system: Resource<Reply<"GET /system">>; store: Looked["store"] }) {
  const servers = useResource("GET /mcp/servers", may("GET /mcp/servers") ? {} : null, ["server"]);
  const stops = useResource("GET /policy/stops", may("GET /policy/stops") ? {} : null);
  const versions = useResource("GET /policy/versions", may("GET /policy/versions") ? {} : null);
  const models = useResource("GET /models", {});
  const checks = checksOf({
    system: props.system.data,
    store: props.store,
    servers: servers.data,
    stops: stops.data,
    versions: versions.data,
    models: models.data,
  });
  if (props.system.data === null && props.system.isLoading) return <Loading />;
  return (
    <section class="card">
      <h2>Checks</h2>
      <ul class="lines checks" data-testid="checks">
        {checks.map(({ name, isOk, says, next }) => (
          <li key={name} data-testid="check" data-status={said("check", isOk ? "ok" : "failed")}>
            <Status is={isOk ? "ok" : "failed"} />
            <strong>{name}</strong>
            <span class="text">{says}</span>
            {next !== null && <span class="queue">→ {next}</span>}
          </li>
        ))}
      </ul>
      <p class="quiet">
        For what only the machine knows, such as its disk and its keys, run <code>yard doctor</code>{" "}
        there.
      </p>
    </section>
  );
}

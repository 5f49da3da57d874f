import { useAgainEvery, useResource } from "../core/resource.ts";
import { may } from "../core/session.ts";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { GivenUp } from "./system-given-up.tsx";
import { Keys } from "./system-keys.tsx";
import { Doctor } from "./system-doctor.tsx";
import { Services } from "./system-services.tsx";

/** The length of a queue has no events; it is polled at this interval. */
const AGAIN_EVERY_MS = 5_000;

export function System() {
  const system = useResource("GET /system", {});
  useAgainEvery(system, AGAIN_EVERY_MS);
  const dead = useResource("GET /runs/dead", {}, ["run"]);
  const isAsked = dead.data !== null || dead.problem !== null;
  return (
    <Page
      title="System"
      about="Services, queues, API keys, models, and work that was given up."
      cli="yard doctor"
      nats="nats req '$SRV.INFO' ''"
    >
      <Doctor system={system} store={isAsked ? { problem: dead.problem } : null} />
      <Services system={system} />
      <GivenUp dead={dead} />
      {may("GET /keys") && <Keys />}
      <Models />
    </Page>
  );
}

/** Plans and recordings are played here, without any provider. */
function keyText(type: string, hasKey: boolean): string {
  if (type === "scripted" || type === "replay") return "needs no key";
  return hasKey ? "has a key" : "no key";
}

function Models() {
  const models = useResource("GET /models", {});
  return (
    <section class="card">
      <h2>Models</h2>
      <ResourceView of={models}>
        {(data) => (
          <>
            <p>
              The default is <code>{data.default}</code>.
            </p>
            <ul class="lines">
              {data.providers.map(({ name, type, hasKey }) => (
                <li key={name}>
                  <Status is={hasKey ? "ready" : "off"}>{keyText(type, hasKey)}</Status>
                  <strong>{name}</strong>
                  <span class="quiet">{type}</span>
                </li>
              ))}
            </ul>
          </>
        )}
      </ResourceView>
    </section>
  );
}

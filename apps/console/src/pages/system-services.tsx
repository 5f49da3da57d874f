import type { Reply } from "@switchyard/client/client";
import { bytesText, count, numberText } from "../core/format.ts";
import type { Resource } from "../core/resource.ts";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";

type Service = Reply<"GET /system">["services"][number];

/** Lists the services that answer, and the lengths of streams and queues. */
export function Services({ system }: { system: Resource<Reply<"GET /system">> }) {
  return (
    <ResourceView of={system}>
      {({ services, streams, readers }) => (
        <div class="columns">
          <section class="card">
            <h2>Services</h2>
            <ul class="lines checks" data-testid="services">
              {byName(services).map(([name, replicas]) => (
                <li key={name}>
                  <Status is="ready">{count(replicas.length, "replica")}</Status>
                  <strong>{name}</strong>
                  <span class="text">{replicas[0]?.description}</span>
                  <span class="queue quiet">
                    {[...new Set(replicas.map(({ version }) => version))].join(", ")} ·{" "}
                    {count(sumOf(replicas, "requests"), "request")},{" "}
                    {count(sumOf(replicas, "errors"), "error")}
                  </span>
                </li>
              ))}
            </ul>
            <p class="quiet">{count(readers, "reader")} of events at this gateway.</p>
          </section>
          <section class="card">
            <h2>Streams and queues</h2>
            <ul class="lines checks" data-testid="streams">
              {streams.map(({ name, messages, bytes, maxBytes, queues }) => (
                <li key={name}>
                  <strong>{name}</strong>
                  <span>
                    {count(messages, "message")}, {bytesText(bytes)}
                    {maxBytes > 0 && ` of ${bytesText(maxBytes)}`}
                  </span>
                  {queues.map((queue) => (
                    <span key={queue.name} class="queue">
                      <code>{queue.name}</code>: {numberText(queue.waiting)} waiting,{" "}
                      {numberText(queue.inWork)} in work
                      {queue.redelivered > 0 &&
                        `, ${numberText(queue.redelivered)} delivered again`}
                    </span>
                  ))}
                </li>
              ))}
            </ul>
          </section>
        </div>
      )}
    </ResourceView>
  );
}

function byName(services: readonly Service[]): [name: string, replicas: Service[]][] {
  return [...Map.groupBy(services, ({ name }) => name)].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function sumOf(services: readonly Service[], what: "requests" | "errors"): number {
  return services
    .flatMap(({ endpoints }) => endpoints)
    .reduce((sum, endpoint) => sum + endpoint[what], 0);
}

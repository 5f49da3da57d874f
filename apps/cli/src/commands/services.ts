import { discoverServices } from "@switchyard/bus/discovery";
import { findBus, withBus } from "../bus-session.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { printableLine } from "../printable.ts";
import { formatDuration } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/** `yard services`: the services that answer on the bus, with their endpoints and statistics. */
export async function services(terminal: Terminal, options: { json?: true }): Promise<ExitCode> {
  const found = await withBus(await findBus(process.env), (bus) => discoverServices(bus));
  if (options.json) {
    writeJson(terminal, { services: found });
    return EXIT.ok;
  }
  if (found.length === 0) {
    terminal.note("no service answers on this bus");
    return EXIT.dependencyDown;
  }
  const rows = found.flatMap((service) =>
    service.endpoints.map((endpoint) => ({ service, endpoint })),
  );
  const lines = tableLines(
    [
      { title: "SERVICE", value: ({ service }) => printableLine(service.name) },
      { title: "INSTANCE", value: ({ service }) => printableLine(service.id), maxWidth: 12 },
      { title: "ENDPOINT", value: ({ endpoint }) => printableLine(endpoint.name) },
      { title: "SUBJECT", value: ({ endpoint }) => printableLine(endpoint.subject) },
      { title: "REQUESTS", value: ({ endpoint }) => String(endpoint.requests), align: "right" },
      { title: "ERRORS", value: ({ endpoint }) => String(endpoint.errors), align: "right" },
      {
        title: "AVERAGE",
        value: ({ endpoint }) =>
          endpoint.requests === 0 ? "–" : formatDuration(endpoint.averageMs),
        align: "right",
      },
    ],
    rows,
  );
  for (const line of lines) terminal.out(line);
  return EXIT.ok;
}

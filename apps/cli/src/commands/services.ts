import { discoverServices, type EndpointInfo, type ServiceInfo } from "@switchyard/bus/discovery";
import { findBus, withBus } from "../bus-session.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { printableLine } from "../printable.ts";
import { formatDuration } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/** `yard services`: the services that answer on the bus, with their endpoints and statistics. */
export async function services(terminal: Terminal, options: { json?: true }): Promise<ExitCode> {
  const found = await withBus(await findBus(terminal.env), (bus) => discoverServices(bus));
  if (options.json) {
    writeJson(terminal, { services: found });
    return EXIT.ok;
  }
  if (found.length === 0) {
    terminal.note("no service answers here; start one with: ./yard dev");
    return EXIT.dependencyDown;
  }
  const rows = found.flatMap(rowsOf);
  const lines = tableLines(
    [
      { title: "SERVICE", value: ({ service }) => printableLine(service.name) },
      {
        title: "INSTANCE",
        value: ({ service }) => printableLine(service.id),
        maxWidth: 12,
        isSpare: true,
      },
      { title: "ENDPOINT", value: cell(({ name }) => printableLine(name)), maxWidth: 48 },
      {
        title: "SUBJECT",
        value: cell(({ subject }) => printableLine(subject)),
        maxWidth: 64,
        isSpare: true,
      },
      { title: "REQUESTS", value: cell(({ requests }) => String(requests)), align: "right" },
      { title: "ERRORS", value: cell(({ errors }) => String(errors)), align: "right" },
      { title: "AVERAGE", value: cell(averageOf), align: "right" },
    ],
    rows,
  );
  for (const line of lines) terminal.out(line);
  return EXIT.ok;
}

interface Row {
  readonly service: ServiceInfo;
  /** Null for a service without requests on the bus, such as the gateway. */
  readonly endpoint: EndpointInfo | null;
}

function rowsOf(service: ServiceInfo): Row[] {
  if (service.endpoints.length === 0) return [{ service, endpoint: null }];
  return service.endpoints.map((endpoint) => ({ service, endpoint }));
}

function cell(text: (endpoint: EndpointInfo) => string): (row: Row) => string {
  return ({ endpoint }) => (endpoint === null ? "–" : text(endpoint));
}

function averageOf({ requests, averageMs }: EndpointInfo): string {
  return requests === 0 ? "–" : formatDuration(averageMs);
}

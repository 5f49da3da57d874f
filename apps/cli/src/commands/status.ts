import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { discoverServices } from "@switchyard/bus/discovery";
import { listApprovals } from "@switchyard/contracts/policy/approvals";
import { listServers, type ServerInfo } from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { Stop } from "@switchyard/contracts/policy/policy-budgets";
import { totalRuns } from "@switchyard/contracts/agent-runner/run-totals";
import { listRuns } from "@switchyard/contracts/agent-runner/runs";
import { SERVICE_NAMES } from "@switchyard/contracts/user-names";
import { findBus, withBus, type BusTarget } from "../bus-session.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { fieldLines } from "../field-lines.ts";
import { missingText } from "../missing-services.ts";
import { printableLine } from "../printable.ts";
import { count } from "../quantities.ts";
import { stopLines, stopsInForce } from "../stops-in-force.ts";
import { writeJson, type Terminal } from "../terminal.ts";

const LAST_FAILURES = 3;

/** `yard status`: one screen; exit 6 when a service does not answer. Failed queries are shown as such. */
export async function status(terminal: Terminal, options: { json?: true }): Promise<ExitCode> {
  const facts = await factsOf(await findBus(terminal.env));
  if (options.json) writeJson(terminal, facts);
  else for (const line of screenOf(facts)) terminal.out(line);
  return facts.missing.length === 0 ? EXIT.ok : EXIT.dependencyDown;
}

type Facts = Awaited<ReturnType<typeof factsOf>>;

async function factsOf(target: BusTarget) {
  const found = await withBus(target, askAll);
  const { services, approvals, stops, servers, totals, failed } = found;
  const expected = SERVICE_NAMES;
  const names = [...new Set(services.map(({ name }) => name))].toSorted();
  const endpoints = services.flatMap((service) => service.endpoints);
  return {
    nats: target.servers,
    user: target.user,
    services: names,
    missing: expected.filter((name) => !names.includes(name)),
    errors: endpoints.reduce((sum, { errors }) => sum + errors, 0),
    approvals: approvals?.pending ?? null,
    stops,
    unconnectedServers: servers?.servers.filter(isAway).map(({ id }) => id) ?? null,
    running: totals?.now.running ?? null,
    suspended: totals?.now.suspended ?? null,
    waiting: totals?.now.waiting ?? null,
    lastFailures:
      failed?.runs.map(({ runId, agent, updatedAt }) => ({ runId, agent, updatedAt })) ?? null,
  };
}

async function askAll(bus: Bus) {
  const ask = client(bus, { listApprovals, listServers, listRuns, totalRuns });
  const [services, approvals, stops, servers, totals, failed] = await Promise.all([
    discoverServices(bus, { expected: SERVICE_NAMES }),
    orNull(ask.listApprovals({ limit: 1 })),
    stopsInForce(bus),
    orNull(ask.listServers({})),
    orNull(ask.totalRuns({ range: "1h" })),
    orNull(ask.listRuns({ limit: LAST_FAILURES, status: "failed" })),
  ]);
  return { services, approvals, stops, servers, totals, failed };
}

function isAway({ status: state }: ServerInfo): boolean {
  return state !== "connected" && state !== "disabled";
}

function screenOf(facts: Facts): string[] {
  const { services, missing, errors, approvals, stops, unconnectedServers, lastFailures } = facts;
  const look = errors === 0 ? "" : "; see: ./yard services";
  const fields: [string, string][] = [
    ["nats", `${facts.nats} as ${facts.user}`],
    ["services", services.join(", ") || "none"],
    ...missing.map((name): [string, string] => ["missing", missingText(name)]),
    ["errors", `${errors} since they started${look}`],
    ["runs", `${shown(facts.running)} at work, ${shown(facts.waiting)} waiting`],
    ["suspended", suspendedText(facts.suspended)],
    [
      "approvals",
      `${shown(approvals)} waiting${approvals === 0 ? "" : "; decide with: ./yard approvals watch"}`,
    ],
    ...stopFields(stops),
    [
      "not connected",
      listed(unconnectedServers, (all) => `${all.join(", ")}; see: ./yard mcp list`),
    ],
    ["failed last", listed(lastFailures, (all) => count(all.length, "run"))],
  ];
  return [
    ...fieldLines(fields),
    ...(lastFailures ?? []).map(({ runId, agent, updatedAt }) =>
      printableLine(`  ${updatedAt}  ${agent}  ./yard runs show ${runId}`),
    ),
  ];
}

/** Empty while no run is suspended. */
function suspendedText(suspended: number | null): string {
  if (suspended === null || suspended === 0) return "";
  return `${count(suspended, "run")} of those at work; see why with: ./yard runs list --status running, then ./yard runs show`;
}

function stopFields(stops: readonly Stop[] | null): [string, string][] {
  if (stops === null) return [["stopped", "not known"]];
  const lines = stops.length === 0 ? ["nothing"] : stopLines(stops);
  return lines.map((line) => ["stopped", line]);
}

function listed<T>(items: readonly T[] | null, text: (items: readonly T[]) => string): string {
  if (items === null) return "not known";
  return items.length === 0 ? "none" : text(items);
}

/** The reply; null when there is none, which the screen shows. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch(() => null);
}

function shown(number: number | null): string {
  return number === null ? "not known how many" : String(number);
}

import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { discoverServices } from "@switchyard/bus/discovery";
import { listServers, type ServerInfo } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { listStops, type Stop } from "@switchyard/contracts/policy/policy-budgets";
import { listPolicyVersions } from "@switchyard/contracts/policy/policy-bundles";
import { SERVICE_NAMES } from "@switchyard/contracts/user-names";
import { findBus, withBus } from "../bus-session.ts";
import { describeFailure } from "../cli-error.ts";
import { serverText } from "../dev/ready-block.ts";
import { waitsForItsFirstCall } from "../dev/wait-for-mcp-servers.ts";
import { printableLine } from "../printable.ts";
import { checked, failed, ok, warning, type Check } from "./check.ts";

/** Commands that help where the services run. */
export interface Advice {
  /** The command that starts the services. */
  readonly start: string;
  /** The command that shows a service's errors. */
  readonly why: string;
  /** The command line where the services run. */
  readonly yard: string;
}

const ELSEWHERE: Advice = {
  start: "start the services, or correct YARD_NATS_URL",
  why: "look at the logs of these services, such as: docker compose logs policy",
  yard: "yard",
};

/** True where this command line is a client of services that run elsewhere, as in a container: `yard dev` is not installed here. */
export function isClientOnly(env: NodeJS.ProcessEnv): boolean {
  return ["YARD_NATS_URL", "YARD_NATS_NKEY_FILE"].every((name) => (env[name] ?? "") !== "");
}

/** Checks that need only a connection to the installation's bus. */
export async function clientChecks(env: NodeJS.ProcessEnv): Promise<Check[]> {
  try {
    const target = await findBus(env);
    return await withBus(target, async (bus) => [
      ok("nats", `connected to ${target.servers} as ${bus.user}`),
      ...(await busChecks(bus, ELSEWHERE)),
    ]);
  } catch (error) {
    const { message, hint } = describeFailure(error);
    return [failed("nats", message, hint ?? ELSEWHERE.start)];
  }
}

export async function busChecks(bus: Bus, { start, why, yard }: Advice): Promise<Check[]> {
  return [
    await checked("services", start, () => checkServices(bus, why)),
    await checked("mcp", `look at them: ${yard} mcp list`, () => checkMcp(bus, yard)),
    await checked("stops", `look at them: ${yard} policy stops`, async () =>
      stopsCheck((await client(bus, { listStops }).listStops({})).stops, yard),
    ),
    await checked("rules", `look at them: ${yard} policy versions`, () => checkRules(bus, yard)),
  ];
}

async function checkServices(bus: Bus, why: string): Promise<Check> {
  const found = await discoverServices(bus, { expected: SERVICE_NAMES });
  const missing = SERVICE_NAMES.filter((name) => !found.some((service) => service.name === name));
  return missing.length === 0
    ? ok("services", found.map((service) => service.name).join(", "))
    : failed("services", `no answer from ${missing.join(", ")}`, why);
}

function isWell(server: ServerInfo): boolean {
  const { status } = server;
  return status === "connected" || status === "disabled" || waitsForItsFirstCall(server);
}

async function checkMcp(bus: Bus, yard: string): Promise<Check> {
  const { servers } = await client(bus, { listServers }).listServers({});
  return mcpCheck(servers, yard);
}

/** More make every list of tools long, and each stdio server is a process: it works, and is worth a thought. */
const RECOMMENDED_SERVERS = 10;

/** Judges the configured MCP servers. */
export function mcpCheck(servers: readonly ServerInfo[], yard: string): Check {
  const summary = servers.map(serverText).join(", ") || "none configured";
  if (!servers.every(isWell)) return failed("mcp", summary, `look at them: ${yard} mcp list`);
  const inUse = servers.filter(({ status }) => status !== "disabled").length;
  return inUse <= RECOMMENDED_SERVERS
    ? ok("mcp", summary)
    : warning(
        "mcp",
        `${inUse} servers, more than the recommended ${RECOMMENDED_SERVERS}: ${summary}`,
        `disable what no agent needs: ${yard} mcp disable NAME`,
      );
}

/** When rule files are refused, the earlier rules stay in force and nothing else looks wrong. */
async function checkRules(bus: Bus, yard: string): Promise<Check> {
  const { policyDigest, filesRefused } = await client(bus, {
    listPolicyVersions,
  }).listPolicyVersions({});
  const [first] = filesRefused ?? [];
  return first === undefined
    ? ok("rules", `in force: ${policyDigest.slice(0, 19)}`)
    : warning(
        "rules",
        `the policy files are refused, other rules stay in force: ${printableLine(first)}`,
        `see all that is wrong: ${yard} policy versions`,
      );
}

/** A stop blocks calls on purpose, but the user who hits it often does not know. */
export function stopsCheck(stops: readonly Stop[], yard: string): Check {
  const global = stops.find(({ scope }) => scope.kind === "all");
  if (global !== undefined) {
    const { by, at, reason } = global;
    return warning(
      "stops",
      printableLine(`every call is stopped, by ${by} at ${at}: ${reason}`),
      `end it with: ${yard} policy resume --all`,
    );
  }
  if (stops.length === 0) return ok("stops", "no call is stopped");
  const names = stops.map(({ scope }) =>
    scope.kind === "all" ? "" : `${scope.kind} ${scope.name}`,
  );
  return warning(
    "stops",
    printableLine(`calls are stopped of ${names.join(", ")}`),
    `see why: ${yard} policy stops`,
  );
}

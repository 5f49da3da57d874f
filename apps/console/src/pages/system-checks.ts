import type { Reply } from "@switchyard/client/client";
import type { Problem } from "@switchyard/client/problem-error";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import { SERVICE_NAMES } from "@switchyard/contracts/user-names";
import { bytesText } from "../core/format.ts";

/** A check, its result, and advice. */
export interface Check {
  readonly name: string;
  readonly isOk: boolean;
  readonly says: string;
  /** Null when there is nothing to do. */
  readonly next: string | null;
}

/** Inputs of the checks; null before the request or its reply. */
export interface Looked {
  readonly system: Reply<"GET /system"> | null;
  /** Result of a request whose reply is stored in Redis: null when it succeeded. */
  readonly store: { readonly problem: Problem | null } | null;
  readonly servers: Reply<"GET /mcp/servers"> | null;
  readonly stops: Reply<"GET /policy/stops"> | null;
  readonly versions: Reply<"GET /policy/versions"> | null;
  readonly models: Reply<"GET /models"> | null;
}

/** The checks of `yard doctor` that a browser can make. */
export function checksOf({
  system,
  store,
  servers,
  stops,
  versions,
  models,
}: Looked): readonly Check[] {
  return [
    ...(system === null
      ? []
      : [servicesCheck(system), versionsCheck(system), streamsCheck(system)]),
    ...(store === null ? [] : [redisCheck(store)]),
    ...(servers === null ? [] : [serversCheck(servers)]),
    ...(stops === null ? [] : [stopsCheck(stops)]),
    ...(versions === null ? [] : [rulesCheck(versions)]),
    ...(models === null ? [] : [modelCheck(models)]),
  ];
}

function servicesCheck({ services }: Reply<"GET /system">): Check {
  const names = new Set(services.map(({ name }) => name));
  const missing = SERVICE_NAMES.filter((name) => !names.has(name));
  return missing.length === 0
    ? ok("services", `${SERVICE_NAMES.join(", ")} answer`)
    : bad(
        "services",
        `no answer from ${missing.join(", ")}`,
        "start them, or see their logs for why",
      );
}

function versionsCheck({ services }: Reply<"GET /system">): Check {
  const versions = [...new Set(services.map(({ version }) => version))].toSorted();
  const text = versions.join(", ") || "none";
  return versions.length <= 1
    ? ok("versions", `every replica is ${text}`)
    : bad(
        "versions",
        `replicas of ${text} answer side by side`,
        "finish the update, or roll it back",
      );
}

/** A nearly full stream soon refuses messages, or drops unread ones; the stream of facts is exempt, since what it drops has been read. */
const NEARLY_FULL = 0.8;

function streamsCheck({ streams }: Reply<"GET /system">): Check {
  const full = streams.filter(
    ({ name, bytes, maxBytes }) =>
      name !== STREAM_NAMES.facts && maxBytes > 0 && bytes > NEARLY_FULL * maxBytes,
  );
  const said = full.map(
    ({ name, bytes, maxBytes }) => `${name} has ${bytesText(bytes)} of ${bytesText(maxBytes)}`,
  );
  if (streams.length === 0)
    return bad("streams", "there is no stream", "create them: yard streams ensure");
  return full.length === 0
    ? ok("streams", `${streams.length} in NATS, and none is nearly full`)
    : bad("streams", said.join(", "), "look at who does not keep up: Streams and queues, below");
}

function redisCheck({ problem }: { readonly problem: Problem | null }): Check {
  return problem === null
    ? ok("redis", "answers the runners")
    : bad("redis", problem.detail, problem.next ?? "on the machine: yard doctor");
}

function serversCheck({ servers }: Reply<"GET /mcp/servers">): Check {
  const failing = servers.filter(({ status }) => status === "error");
  return failing.length === 0
    ? ok("mcp", `${servers.length} configured, none fails`)
    : bad(
        "mcp",
        `${failing.map(({ id }) => id).join(", ")} cannot be reached`,
        "see why on its page under MCP servers",
      );
}

function stopsCheck({ stops }: Reply<"GET /policy/stops">): Check {
  const names = stops.map(({ scope }) =>
    scope.kind === "all" ? "everything" : `${scope.kind} ${scope.name}`,
  );
  return names.length === 0
    ? ok("stops", "no call is stopped")
    : bad("stops", `calls are stopped of ${names.join(", ")}`, "end it under Policy, Stops");
}

function rulesCheck({ filesRefused }: Reply<"GET /policy/versions">): Check {
  const [first] = filesRefused ?? [];
  return first === undefined
    ? ok("rules", "those of the files are in force")
    : bad("rules", `the files are refused, other rules stay in force: ${first}`, "correct them");
}

function modelCheck({ default: model, providers }: Reply<"GET /models">): Check {
  const provider = providers.find(({ name }) => model.startsWith(`${name}/`));
  return provider?.hasKey === false
    ? bad("model", `${provider.name} has no key, and ${model} is the default`, "set its key")
    : ok("model", `${model} is the default`);
}

function ok(name: string, says: string): Check {
  return { name, isOk: true, says, next: null };
}

function bad(name: string, says: string, next: string): Check {
  return { name, isOk: false, says, next };
}

import { readdir } from "node:fs/promises";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { ServiceError } from "@switchyard/contracts/errors";
import { CallerName } from "@switchyard/contracts/ids";
import { ANONYMOUS_USER, CLI_USER } from "@switchyard/contracts/user-names";
import { CliError } from "./cli-error.ts";
import { findRunningInstance } from "./instance-record.ts";
import { readSeed, seedFile } from "./nkey-seed.ts";
import { apiKeyFor } from "./api-key.ts";
import { projectAt, stateDirectory } from "./locations.ts";
import { serverAddress } from "./server-address.ts";
import { currentContext, namedGateway } from "./settings.ts";

/** The address of the bus and the user on it. */
export interface BusTarget {
  readonly servers: string;
  readonly user: string;
  readonly nkeyFile: string | null;
  /**
   * `environment` for YARD_NATS_URL, `dev` for the instance of `yard dev`, `http` for a gateway, which identifies the user by the
   * API key.
   */
  readonly source: "environment" | "dev" | "http";
  /** Reads the API key of a gateway; left out for NATS. */
  readonly apiKey?: () => Promise<string>;
}

/**
 * Resolves the bus: the gateway of --server, or the context of --context, or the one of both that YARD_CONTEXT names, else YARD_NATS_URL, else
 * the selected context, else the running `yard dev`. YARD_USER and YARD_NATS_NKEY_FILE set the NATS user. Throws `not_running` when
 * there is no bus.
 */
export async function findBus(
  env: NodeJS.ProcessEnv,
  defaultUser: string = CLI_USER,
): Promise<BusTarget> {
  const gateway = chosenGateway(env);
  if (gateway !== null) {
    const apiKey = () => apiKeyFor(gateway, env);
    return { servers: gateway, user: "", nkeyFile: null, source: "http", apiKey };
  }
  const explicit = explicitBus(env);
  const chosen = explicit === null ? currentContext(env)?.context : undefined;
  const context = chosen !== undefined && "nats" in chosen ? chosen : null;
  const url = explicit ?? context?.nats ?? null;
  const named = variable(env, "YARD_USER") ?? context?.user ?? null;
  const user = checkedUser(named ?? defaultUser);
  const nkeyFile = variable(env, "YARD_NATS_NKEY_FILE") ?? context?.nkeyFile ?? null;
  if (url !== null) return { servers: url, user, nkeyFile, source: "environment" };
  const state = stateDirectory(env);
  const instance = await findRunningInstance(state.instanceFile);
  if (instance === null) {
    const project = projectAt(process.cwd(), env);
    throw new CliError("not_running", `nothing runs for ${project ?? "the demo"}`, {
      hint:
        project === null
          ? "go into your project, or start the demo with ./yard dev --demo, or name a NATS server with YARD_NATS_URL"
          : "start it with yard dev, or name a NATS server with YARD_NATS_URL",
    });
  }
  if (instance.natsUrl === null || instance.phase !== "ready") {
    throw new CliError(
      "not_running",
      `Switchyard is ${instance.phase} (process ${instance.owner.pid})`,
      { hint: "try again when ./yard dev reports that it is ready" },
    );
  }
  return {
    servers: instance.natsUrl,
    user,
    nkeyFile:
      nkeyFile ?? (named === null ? seedFile(state.keys, user) : await keyOf(user, state.keys)),
    source: "dev",
  };
}

/** The address of the gateway that the commands talk to; null where they talk to NATS. */
export function chosenGateway(env: NodeJS.ProcessEnv): string | null {
  const server = namedGateway(env);
  if (server !== null) return serverAddress(server);
  const context = explicitBus(env) === null ? currentContext(env)?.context : undefined;
  return context !== undefined && "http" in context ? context.http : null;
}

/** A bus that counts before the context that is in use, and not before one that is named. */
function explicitBus(env: NodeJS.ProcessEnv): string | null {
  return variable(env, "YARD_CONTEXT") === null ? variable(env, "YARD_NATS_URL") : null;
}

/** The key that `yard dev` made for a user; null for the one that has none. */
async function keyOf(user: string, directory: string): Promise<string | null> {
  if (user === ANONYMOUS_USER.name) return null;
  const users = (await readdir(directory).catch(() => []))
    .filter((file) => file.endsWith(".nk"))
    .map((file) => file.slice(0, -".nk".length));
  if (users.includes(user)) return seedFile(directory, user);
  throw new CliError("usage", `YARD_USER is ${user}, and there is no key of that user here`, {
    hint: `it can be ${[...users, ANONYMOUS_USER.name].join(", ")}; for another user name the file with its key in YARD_NATS_NKEY_FILE`,
  });
}

/** An empty variable counts as unset, as in the services. */
function variable(env: NodeJS.ProcessEnv, name: string): string | null {
  const value = env[name];
  return value === undefined || value === "" ? null : value;
}

/** It becomes a token of every subject. */
function checkedUser(name: string): string {
  if (CallerName.safeParse(name).success) return name;
  throw new CliError(
    "usage",
    `YARD_USER is ${JSON.stringify(name)}, which is not a valid user name`,
    {
      hint: "a name has a-z, 0-9 and -, such as team-a",
    },
  );
}

/** Connects, lets `use` work, and closes, whatever happens. */
export async function withBus<T>(
  target: BusTarget,
  use: (bus: Bus) => Promise<T>,
  options: { readonly connectTimeoutMs?: number } = {},
): Promise<T> {
  const bus = await openBus(target, null, options);
  try {
    return await use(bus);
  } finally {
    await bus.close();
  }
}

/** Connects as the target's user, with a seed in place of its key where one is given. The caller closes it. */
export async function openBus(
  target: BusTarget,
  seed: string | null = null,
  { connectTimeoutMs = 5_000 }: { readonly connectTimeoutMs?: number } = {},
): Promise<Bus> {
  const { servers, user, nkeyFile, apiKey } = target;
  if (apiKey !== undefined) {
    const { connectHttp } = await import("./http-bus.ts");
    return connectHttp(servers, await apiKey(), connectTimeoutMs);
  }
  // An unreadable key is reported as such, not as an unreachable server.
  if (nkeyFile !== null && seed === null) await readSeed(nkeyFile);
  return connectBus({
    servers,
    user,
    ...(user === ANONYMOUS_USER.name ? { inboxPrefix: ANONYMOUS_USER.inboxPrefix } : {}),
    ...(seed !== null
      ? { nkeySeed: async () => seed }
      : nkeyFile === null
        ? {}
        : { nkeySeed: () => readSeed(nkeyFile) }),
    connectTimeoutMs,
  }).catch((error: unknown) => {
    throw explained(error, target);
  });
}

/**
 * Without the user's own key the connection is anonymous or another user's: the server identifies users by key alone, and does not
 * permit the reply subjects of this name.
 */
function explained(error: unknown, { user, nkeyFile }: BusTarget): unknown {
  if (!(error instanceof ServiceError) || error.code !== "forbidden") return error;
  const { name } = ANONYMOUS_USER;
  if (nkeyFile === null && user === name) return error;
  const hint =
    nkeyFile === null
      ? `without a key this client is not ${user}: name the file with its NKey seed in YARD_NATS_NKEY_FILE, or be ${name} where clients without a key may: YARD_USER=${name}`
      : `the server does not know the key in ${nkeyFile} as that of ${user}: name the user in YARD_USER and the file with its NKey seed in YARD_NATS_NKEY_FILE`;
  return new CliError(error.code, error.message, { hint, cause: error });
}

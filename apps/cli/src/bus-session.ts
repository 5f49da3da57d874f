import { connectBus, type Bus } from "@switchyard/bus/connect";
import { ServiceError } from "@switchyard/contracts/errors";
import { anonymousUser, cliUser } from "@switchyard/contracts/topology";
import { CliError } from "./cli-error.ts";
import { findRunningInstance } from "./instance-record.ts";
import { readSeed, seedFile } from "./key-directory.ts";
import { stateDirectory } from "./locations.ts";

/** Where the bus is and who we are there. */
export interface BusTarget {
  readonly servers: string;
  readonly user: string;
  readonly nkeyFile: string | null;
  /** `environment` for YARD_NATS_URL, `dev` for the instance of `yard dev`. */
  readonly source: "environment" | "dev";
}

/**
 * Finds the bus: YARD_NATS_URL with YARD_USER and YARD_NATS_NKEY_FILE when it is set, else the
 * running `yard dev`. Throws `not_running` when there is neither.
 */
export async function findBus(
  env: NodeJS.ProcessEnv,
  defaultUser: string = cliUser.name,
): Promise<BusTarget> {
  const url = env["YARD_NATS_URL"];
  if (url !== undefined && url !== "") {
    const user = env["YARD_USER"] ?? defaultUser;
    return {
      servers: url,
      user,
      nkeyFile: env["YARD_NATS_NKEY_FILE"] ?? null,
      source: "environment",
    };
  }
  const state = stateDirectory(env);
  const instance = await findRunningInstance(state.instanceFile);
  if (instance === null) {
    throw new CliError("not_running", "Switchyard does not run here", {
      hint: "start it with ./yard dev, or name a bus with YARD_NATS_URL",
    });
  }
  if (instance.natsUrl === null || instance.phase !== "ready") {
    throw new CliError(
      "not_running",
      `Switchyard is ${instance.phase} (process ${instance.owner.pid})`,
      { hint: "try again when ./yard dev says that it is ready" },
    );
  }
  return {
    servers: instance.natsUrl,
    user: defaultUser,
    nkeyFile: seedFile(state.keys, defaultUser),
    source: "dev",
  };
}

/** Connects, lets `use` work, and closes, whatever happens. */
export async function withBus<T>(target: BusTarget, use: (bus: Bus) => Promise<T>): Promise<T> {
  const { servers, user, nkeyFile } = target;
  // A key that cannot be read is said as such, not as a server that cannot be reached.
  if (nkeyFile !== null) await readSeed(nkeyFile);
  const bus = await connectBus({
    servers,
    user,
    ...(user === anonymousUser.name ? { inboxPrefix: anonymousUser.inboxPrefix } : {}),
    ...(nkeyFile === null ? {} : { nkeySeed: () => readSeed(nkeyFile) }),
    connectTimeoutMs: 5_000,
  }).catch((error: unknown) => {
    throw explained(error, target);
  });
  try {
    return await use(bus);
  } finally {
    await bus.close();
  }
}

/** Without its key a user is nobody: the server takes the client for another user, and answers nothing to this one. */
function explained(error: unknown, { user, nkeyFile }: BusTarget): unknown {
  const isUnknown = nkeyFile === null && user !== anonymousUser.name;
  if (!isUnknown || !(error instanceof ServiceError)) return error;
  if (error.code !== "jetstream_disabled" && error.code !== "forbidden") return error;
  const { name } = anonymousUser;
  return new CliError(error.code, error.message, {
    hint: `without a key this client is not ${user}: name the file with its NKey seed in YARD_NATS_NKEY_FILE, or be ${name} where clients without a key may: YARD_USER=${name}`,
    cause: error,
  });
}

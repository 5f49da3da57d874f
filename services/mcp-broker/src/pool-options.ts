import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import type { Bus } from "@switchyard/bus/bus";
import type { Log } from "@switchyard/service/log";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { Redis } from "@switchyard/service/redis";
import { createKeyedDigest } from "./auth/keyed-digest.ts";
import type { LoginStore } from "./auth/login-store.ts";
import type { TokenCipher } from "./auth/token-cipher.ts";
import { createUpstreamLogins } from "./auth/connection-auth.ts";
import { createDiscoveryReporter } from "./connection/connection-reporter.ts";
import type { Features } from "./features/start-features.ts";
import type { ServerOwner } from "./ownership/server-owner.ts";
import type { startPinning } from "./pins/start-pinning.ts";
import type { ChildRecords } from "./process/child-records.ts";
import { createServerIsolation, type SandboxSetting } from "./process/isolate-server.ts";
import { createSessionOpener } from "./connection/open-session.ts";
import { paceStarts } from "./connection/pace-starts.ts";
import type { Clock } from "./connection/server-connection.ts";
import type { PoolOptions } from "./connection/server-pool.ts";
import { mayChooseUsers } from "./process/server-users.ts";
import type { ServerSecrets } from "./secrets/server-secrets.ts";
import { createVerdictStore } from "./connection/verdict-store.ts";

/** The parts of its process that a broker's connections need. */
export interface PoolSurroundings {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly stateDir: string;
  readonly sandbox: SandboxSetting;
  readonly tokenKeys: TokenCipher | null;
  readonly secrets: ServerSecrets;
  readonly records: ChildRecords;
}

/** The other parts of the broker that connections need. */
export interface PoolParts {
  readonly guard: EgressGuard;
  readonly logins: LoginStore | null;
  readonly owner: ServerOwner;
  readonly features: Features;
  readonly pinning: ReturnType<typeof startPinning>;
}

/**
 * Starting a process keeps a processor busy for a good part of a second; a start that hangs does not block the next one for
 * longer.
 */
const START_PACE = { atOnce: 4 * availableParallelism(), holdMs: 2_000 };

const systemClock: Clock = {
  now: Date.now,
  random: Math.random,
  schedule(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** One line for all servers: they share one reason. */
function once(log: (reason: string) => void): (reason: string) => void {
  let isLogged = false;
  return (reason) => {
    if (!isLogged) log(reason);
    isLogged = true;
  };
}

/** Connects the pool with the other parts: who may connect, what is listed, who is notified. */
export function poolOptions(surroundings: PoolSurroundings, parts: PoolParts): PoolOptions {
  const { bus, redis, log, env, version, stateDir, sandbox, tokenKeys, secrets, records } =
    surroundings;
  const { guard, logins, owner, features, pinning } = parts;
  const discovery = createDiscoveryReporter({ bus, log, now: Date.now });
  const open = createSessionOpener({
    children: {
      env,
      secrets: secrets.lookup,
      records,
      isolate: createServerIsolation({
        env,
        stateDir,
        setting: sandbox,
        ownUsers: mayChooseUsers(),
        onUnconfined: once((reason) =>
          log.warn({ reason }, "mcp servers run without a sandbox, with the rights of the broker"),
        ),
      }),
    },
    version,
    guard,
    hooks: features.hooksOf,
    inspect: pinning.inspect,
    verdicts: createVerdictStore({
      redis,
      now: Date.now,
      // Without a key that outlives the process, its verdicts count for this broker alone.
      digest: tokenKeys?.digest ?? createKeyedDigest(randomBytes(32)),
      onTrouble: (err) => log.debug({ err }, "protocol verdict not kept"),
      onOldQuestions: (server) => owner.steppedBack(server),
    }),
    loginOf: createUpstreamLogins({ store: logins, guard, now: Date.now }),
  });
  return {
    open: paceStarts(open, START_PACE),
    clock: systemClock,
    access: owner.leases.access,
    pinState: pinning.pinState,
    onChange: (change, connection) => {
      owner.changed(change, connection);
      features.changed(change, connection);
      if (owner.leases.owns(connection.entry.id)) discovery(change, connection);
    },
    onInstanceChange(change, connection) {
      const server = connection.entry.id;
      log.debug({ server, change: change.kind }, "mcp server instance changed");
      features.changed(change, connection);
    },
    onFault: (err) => log.error({ err }, "mcp server pool fault"),
  };
}

import { randomBytes } from "node:crypto";
import { follow } from "@switchyard/bus/follow";
import type { Bus } from "@switchyard/bus/connect";
import { publishLive } from "@switchyard/bus/publish";
import type { Service } from "@switchyard/bus/serve";
import { isSubjectToken } from "@switchyard/contracts/define";
import { ServerId } from "@switchyard/contracts/ids";
import { runEnds } from "@switchyard/contracts/run-events";
import { sessionEnded } from "@switchyard/contracts/session-events";
import { serverHint } from "@switchyard/contracts/mcp-ownership";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import type { CallEndpoints } from "./server-endpoints.ts";
import type { ConnectionChange, ServerConnection } from "../connection/server-connection.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import type { RegistryStore } from "../registry/registry-store.ts";
import type { RegistryChange, ServerRegistry } from "../registry/server-registry.ts";
import { createBrokerPresence } from "./broker-presence.ts";
import { carryOut } from "./carry-out.ts";
import { idleIn } from "./idle-servers.ts";
import { createLeaseStore } from "./lease-store.ts";
import { serveEnsure, serveOwners } from "./owner-endpoints.ts";
import { leaseTimes } from "./lease-times.ts";
import { createOwnerRequests, type OwnerRequests } from "./owner-requests.ts";
import { createRegistrySync } from "./registry-sync.ts";
import type { Holder } from "../connection/server-instances.ts";
import { ServerDirectory } from "./server-directory.ts";
import { ServerOwnership } from "./server-ownership.ts";
import { ServerPlacement } from "./server-placement.ts";
import type { ServerState } from "./server-state.ts";
import { serverViews, type ServerView } from "./server-views.ts";

export interface OwnershipSettings {
  /** Name of this broker for people. */
  readonly instance: string;
  readonly leaseMs: number;
  /** The most servers that this broker owns. */
  readonly ownedLimit: number;
  /** At most one server moves to a broker with fewer in this time. */
  readonly rebalanceMs: number;
}

/** What answers requests, made after the owner whom it asks. */
export interface OwnerEndpoints {
  readonly service: Service;
  readonly endpoints: CallEndpoints;
}

/** The part of a broker that decides which servers are its own, and answers for those of others. */
export interface ServerOwner {
  readonly access: ServerPlacement["access"];
  /** For the pool. */
  readonly changed: (change: ConnectionChange, connection: ServerConnection) => void;
  /** For the registry; true when the outside is to be told by this broker. */
  readonly registryChanged: (change: RegistryChange) => boolean;
  /** All servers, for the lists. */
  readonly views: () => readonly ServerView[];
  readonly requests: OwnerRequests;
  /** What another broker says of a server; null when this one owns it, or nobody does. */
  readonly stateOf: (server: string) => ServerState | null;
  /** Owns a server that is being added before it is there; `work` adds it. */
  claiming<T>(server: unknown, work: () => Promise<T>): Promise<T>;
  /** Takes a share of the servers. Rejects with StoreError. */
  start(answering: OwnerEndpoints): Promise<void>;
  /** Gives every server away, each when its calls have ended. */
  stop(): Promise<void>;
}

/** How long the views wait for an owner that connects a server on demand. */
const START_ELSEWHERE_MS = 9_000;

interface OwnerOptions {
  bus: Bus;
  redis: Redis;
  log: Log;
  settings: OwnershipSettings;
  report: (change: ConnectionChange, connection: ServerConnection) => void;
  pool: ServerPool;
  registry: ServerRegistry;
  registryStore: RegistryStore;
}

export function createServerOwner(options: OwnerOptions): ServerOwner {
  const { bus, pool } = options;
  const { placement, directory, ownership, requests, sync, hint, onFault } = wire(options);
  const stops: (() => void)[] = [];
  return {
    access: placement.access,
    changed: (change, connection) => placement.changed(change, connection),
    registryChanged(change) {
      const server = change.kind === "removed" ? change.serverId : change.server.id;
      placement.registryChanged(server);
      if (change.isEcho === true) return false;
      if (change.by === null) return ownership.isFirst;
      hint(server, "registry");
      return true;
    },
    views: () =>
      serverViews({
        pool,
        directory,
        owns: (server) => ownership.owns(server),
        startElsewhere: (server) =>
          requests
            .atOwner(server, { do: "start" }, { deadline: Date.now() + START_ELSEWHERE_MS })
            .then(() => ownership.lookAt(server))
            .catch(() => undefined), // the view says what is missing
      }),
    requests,
    stateOf: (server) => directory.stateOf(server),
    async claiming(server, work) {
      const id = ServerId.safeParse(server).data ?? null;
      const isNew = id !== null && pool.find(id) === null;
      // Without Redis the registry says so itself.
      if (isNew) await ownership.claim(id).catch(() => false);
      try {
        return await work();
      } finally {
        if (isNew && pool.find(id) === null) ownership.forget(id);
      }
    },
    async start({ service, endpoints }) {
      const ownerEndpoints = serveOwners(service, { bus, ownership, requests });
      placement.begin({
        pool,
        endpoints,
        ownerEndpoints,
        ownership,
        directory,
        isIdle: idleIn(pool),
      });
      serveEnsure(service, { pool, directory, requests });
      const hints = follow(bus, serverHint, ({ about }, { server }) => {
        if (about === "registry") void sync.check();
        else ownership.noticed(server);
      });
      const end = (holder: Holder): void => void pool.instances.endHolder(holder).catch(onFault);
      const ends = runEnds.map((contract) =>
        follow(bus, contract, ({ runId }) => end({ scope: "run", id: runId })),
      );
      const endsOfSessions = follow(bus, sessionEnded, ({ sessionId }) =>
        end({ scope: "session", id: sessionId }),
      );
      for (const followed of [hints, ...ends, endsOfSessions]) stops.push(() => followed.stop());
      await ownership.start();
    },
    async stop() {
      for (const stop of stops) stop();
      placement.stop();
      await ownership.stop();
    },
  };
}

/** The parts of ownership, connected with each other. */
function wire({ bus, redis, log, settings, report, ...parts }: OwnerOptions) {
  const { instance, leaseMs, ownedLimit: limit, rebalanceMs } = settings;
  // A restarted broker of the same name is another owner: it has none of the connections.
  const self = `${instance}:${randomBytes(6).toString("hex")}`;
  const store = createLeaseStore(redis, self);
  const hint = (server: string, about: "lease" | "registry"): void => {
    if (!isSubjectToken(server) || bus.status !== "connected") return; // everyone looks by itself, too
    publishLive(bus, serverHint, { server }, { about });
  };
  const placement = new ServerPlacement({ name: instance, log, report });
  const directory = new ServerDirectory({
    store,
    self,
    onChange: (server) => placement.seen(server),
  });
  const onFault = (err: unknown): void => log.error({ err }, "mcp ownership fault");
  const sync = createRegistrySync({ ...parts, onTrouble: onFault });
  const ownership = new ServerOwnership({
    ...placement.hooks(),
    self,
    store,
    presence: createBrokerPresence(redis, { self, leaseMs }),
    directory,
    times: leaseTimes(leaseMs),
    limit,
    rebalanceMs,
    random: Math.random,
    hint: (server) => hint(server, "lease"),
    onRound: () => void sync.check(),
    onOutage: (err) =>
      err === null
        ? log.info("mcp leases can be renewed again")
        : log.warn({ err }, "mcp leases cannot be renewed"),
    onFault,
  });
  const requests = createOwnerRequests({
    bus,
    ownership,
    directory,
    knows: (server) => parts.pool.find(server) !== null,
    here: (server, request) => carryOut(parts, server, request),
  });
  return { placement, directory, ownership, requests, sync, hint, onFault };
}

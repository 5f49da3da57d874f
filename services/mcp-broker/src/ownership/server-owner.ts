import { randomBytes } from "node:crypto";
import { follow } from "@switchyard/bus/follow";
import type { Bus } from "@switchyard/bus/bus";
import { publishLive } from "@switchyard/bus/publish";
import type { Service } from "@switchyard/bus/serve";
import { isSubjectToken } from "@switchyard/contracts/define";
import { ServerId } from "@switchyard/contracts/ids";
import { runEnds } from "@switchyard/contracts/agent-runner/run-events";
import { sessionEnded } from "@switchyard/contracts/agent-runner/session-events";
import { serverHint } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import { StoreError } from "@switchyard/service/store-error";
import type { ConnectionChange, ServerConnection } from "../connection/server-connection.ts";
import type { Holder } from "../connection/server-instances.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import type { RegistryStore } from "../registry/registry-store.ts";
import type { RegistryChange, ServerRegistry } from "../registry/server-registry.ts";
import { KnownLeases } from "./known-leases.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { createLeaseStore } from "./lease-store.ts";
import { leaseTimes } from "./lease-times.ts";
import { createOwnerEndpoints, serveEnsure } from "./owner-endpoints.ts";
import type { ServerEndpoints } from "./server-endpoints.ts";
import { createOwnerRequests } from "./owner-requests.ts";
import { ServedServers } from "./served-servers.ts";
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

export type ServerOwner = ReturnType<typeof createServerOwner>;

/** The time for which the views wait for an owner that connects a server on demand. */
const START_ELSEWHERE_MS = 9_000;

interface OwnedParts {
  readonly pool: ServerPool;
  readonly registry: ServerRegistry;
  readonly registryStore: RegistryStore;
  /** Reads the secrets of servers, and connects those anew whose secrets changed. Rejects with StoreError. */
  readonly syncSecrets: () => Promise<void>;
  readonly service: Service;
  /** The endpoints of every broker with a connection. */
  readonly endpoints: ServerEndpoints;
  readonly report: (change: ConnectionChange, connection: ServerConnection) => void;
}

/** Creates the part of a broker that decides which servers it owns, and answers for those of others. */
export function createServerOwner(
  { bus, redis, log }: { bus: Bus; redis: Redis; log: Log },
  settings: OwnershipSettings,
  parts: OwnedParts,
) {
  const { instance, leaseMs, ownedLimit: limit, rebalanceMs } = settings;
  const { pool, registry, service } = parts;
  const self = `${instance}:${randomBytes(6).toString("hex")}`;
  const leases = new KnownLeases({ name: instance, self, times: leaseTimes(leaseMs) });
  const onFault = (err: unknown): void => log.error({ err }, "mcp ownership fault");
  const sync = createRegistrySync({ ...parts, onTrouble: onFault });
  const ownerEndpoints = createOwnerEndpoints(service, { bus, leases, pool, registry });
  const served = new ServedServers({ ...parts, leases, ownerEndpoints, log });
  const keeper = new LeaseKeeper({
    store: createLeaseStore(redis, self),
    leases,
    served,
    limit,
    rebalanceMs,
    hint: (server) => hint(bus, server, "lease"),
    onRound: () => void sync(),
    log,
  });
  const requests = createOwnerRequests({ bus, leases, keeper, pool, registry });
  const followed: { stop(): void }[] = [];
  return {
    leases,
    /** A connection of the pool changed. */
    changed(change: ConnectionChange, connection: ServerConnection): void {
      keeper.changed(connection.entry.id);
      served.connectionChanged(change, connection);
    },
    /** The registry changed; true when this broker is to report it. */
    registryChanged(change: RegistryChange): boolean {
      const server = change.kind === "removed" ? change.serverId : change.server.id;
      if (pool.find(server) === null) {
        served.removed(server);
        keeper.forget(server);
      } else if (leases.owns(server)) {
        served.declared(server);
        keeper.changed(server);
      } else keeper.nudge();
      if (change.isEcho === true) return false;
      if (change.by === null) return keeper.isFirst;
      hint(bus, server, "registry");
      return true;
    },
    /** A server's tools ask in the way of earlier revisions: the other brokers connect with one, too, before a call of theirs fails. */
    steppedBack: (server: string): void => hint(bus, server, "revision"),
    /** Makes the other brokers read the registry and the secrets. */
    announceRegistry: (server: string): void => hint(bus, server, "registry"),
    /** All servers, for the lists. */
    views: (): readonly ServerView[] =>
      serverViews({
        pool,
        leases,
        startElsewhere: (server) =>
          requests
            .atOwner(server, { do: "start" }, { deadline: Date.now() + START_ELSEWHERE_MS })
            .then(() => keeper.lookAt(server))
            .catch(() => undefined), // the view reports what is missing
      }),
    requests,
    /** Claims a server that is being added before it exists; `work` adds it. */
    claiming: <T>(server: unknown, work: () => Promise<T>): Promise<T> =>
      claiming({ keeper, pool, server, work }),
    /** Claims a share of the servers. Rejects with StoreError. */
    async start(): Promise<void> {
      serveEnsure(service, { pool, leases, requests });
      const hints = follow(bus, serverHint, ({ about }, { server }) => {
        if (about === "registry") void sync();
        else if (about === "revision") stepBack(pool, server);
        else keeper.noticed(server);
      });
      followed.push(hints, ...endInstances(bus, pool, onFault));
      await keeper.start();
    },
    /** Hands every server over, each when its calls have ended. */
    async stop(): Promise<void> {
      for (const subscription of followed) subscription.stop();
      served.stop();
      await keeper.stop();
    },
  };
}

async function claiming<T>(options: {
  keeper: LeaseKeeper;
  pool: ServerPool;
  server: unknown;
  work: () => Promise<T>;
}): Promise<T> {
  const { keeper, pool, server, work } = options;
  const id = ServerId.safeParse(server).data ?? null;
  const isNew = id !== null && pool.find(id) === null;
  // Without Redis the registry reports the outage itself.
  if (isNew) await keeper.claim(id).catch(() => false);
  try {
    return await work();
  } finally {
    if (isNew && pool.find(id) === null) keeper.forget(id);
  }
}

/** Makes the other brokers read the state of a server; each polls it sooner or later, too. */
function hint(bus: Bus, server: string, about: "lease" | "registry" | "revision"): void {
  if (!isSubjectToken(server) || bus.status !== "connected") return;
  publishLive(bus, serverHint, { server }, { about });
}

/** A connection that speaks an earlier revision already has nothing to step back to. */
function stepBack(pool: ServerPool, server: string): void {
  const shared = pool.find(server);
  for (const { connection } of [...(shared === null ? [] : [shared]), ...pool.instances.of(server)])
    if (connection.session !== null) void connection.stepBack(connection.session);
}

/** Instances of a server end with the runs and sessions that they are for. */
function endInstances(bus: Bus, pool: ServerPool, onFault: (error: unknown) => void) {
  const end = (holder: Holder): void => void pool.instances.endHolder(holder).catch(onFault);
  return [
    ...runEnds.map((contract) =>
      follow(bus, contract, ({ runId }) => end({ scope: "run", id: runId })),
    ),
    follow(bus, sessionEnded, ({ sessionId }) => end({ scope: "session", id: sessionId })),
  ];
}

/**
 * Creates the function that loads the changes that other brokers made in the registry. It is read again when its version is not
 * the one that was read last. Never rejects.
 */
function createRegistrySync(options: {
  registry: ServerRegistry;
  registryStore: RegistryStore;
  /** Reads the secrets, which the same version counts. Rejects with StoreError. */
  syncSecrets: () => Promise<void>;
  onTrouble: (error: unknown) => void;
}): () => Promise<void> {
  const { registry, registryStore, syncSecrets, onTrouble } = options;
  let known: string | null = null;
  let last: Promise<void> = Promise.resolve();

  const syncNow = async (): Promise<void> => {
    try {
      // The version first: a change between the two is read once more, and none is missed.
      const version = await registryStore.version();
      if (version === known) return;
      await registry.follow(() => registryStore.load());
      await syncSecrets();
      known = version;
    } catch (error) {
      // Without Redis there is nothing new to read; the leases report the outage.
      if (!(error instanceof StoreError)) onTrouble(error);
    }
  };

  return () => {
    last = last.then(syncNow);
    return last;
  };
}

import { createServerInstances, type ServerInstances } from "./server-instances.ts";
import { failuresOf, type ServiceError } from "@switchyard/contracts/errors";
import { getServer } from "@switchyard/contracts/mcp-servers";
import type { Principal } from "@switchyard/contracts/policy";
import type { ServerEntry } from "../declaration/server-config.ts";
import { createPoolMember, type PoolMember } from "./pool-member.ts";
import { Endings } from "./endings.ts";
import type { ServerConnection, ServerConnectionOptions } from "./server-connection.ts";

/** All servers, each with its own connection and its own queue: none can hold up another. */
export interface ServerPool {
  /** Puts the first servers in. Before it there are none: what connections are made with may look for servers here. */
  begin(entries: readonly ServerEntry[], options: PoolOptions): void;
  /** In the order in which they came. */
  readonly members: readonly PoolMember[];
  find(id: string): PoolMember | null;
  /** The server of this id; throws `unknown_server` when there is none. */
  known(id: string): ServerConnection;
  /**
   * Where requests of this principal go: the instance of its run or session, and the server itself when it is shared.
   * Rejects as `ServerInstances.memberFor` does.
   */
  route(member: PoolMember, principal: Principal): Promise<PoolMember>;
  /** Instances of servers that are not shared; they end with their server here. */
  readonly instances: ServerInstances;
  /**
   * Puts a server in, in the place of the one with its id. It connects when its connection is
   * started, and not before the processes of its predecessor are gone.
   */
  put(entry: ServerEntry, change: PoolChange): Placed;
  /** Takes over an entry that makes the same connection (`live-fields.ts`), without a new one. */
  amend(entry: ServerEntry): void;
  /** Takes a server out. Resolves when no connection and no child process of it is left. */
  take(id: string, reason: string): Promise<void>;
  /** Connects the servers that connect by themselves. Resolves when each had its first attempt, whatever its end. */
  start(): Promise<void>;
  /** Resolves when no connection and no child process is left. */
  stop(): Promise<void>;
}

export interface PoolChange {
  /** The error of calls that end with the predecessor. */
  readonly reason: string;
  /** Why the server is to stay unconnected; null when it may connect. */
  readonly heldBecause: string | null;
}

interface Placed {
  readonly connection: ServerConnection;
  /** Resolves when nothing is left of the predecessor. */
  readonly predecessorEnded: Promise<void>;
}

export interface PoolOptions extends Omit<
  ServerConnectionOptions,
  "entry" | "heldBecause" | "predecessor"
> {
  /** Of the connections of instances, which are not reported to the outside. */
  readonly onInstanceChange: ServerConnectionOptions["onChange"];
  readonly onFault: (error: unknown) => void;
}

/** What all requests about a server say that is not there. */
export function unknownServer(server: string): ServiceError {
  return fail.unknown_server(`MCP server not found: ${server}`, { server });
}

const fail = failuresOf(getServer.errors);

export function createServerPool(): ServerPool {
  let given: PoolOptions | null = null;
  const using = (): PoolOptions => {
    if (given === null) throw new TypeError("the pool has not begun");
    return given;
  };
  const members = new Map<string, PoolMember>();
  /** Connections, by server. */
  const endings = new Endings();
  const instances = createServerInstances({
    create: (entry, ended) => {
      const options = using();
      const onChange = options.onInstanceChange;
      return createPoolMember({ ...options, entry, onChange, predecessor: { ended, stderr: "" } });
    },
    schedule: (delayMs, callback) => using().clock.schedule(delayMs, callback),
    onFault: (error) => using().onFault(error),
  });

  const end = (id: string, reason: string): Promise<void> => {
    const own = members.get(id)?.connection.stop(reason) ?? Promise.resolve();
    return endings.add(id, Promise.all([own, instances.endServer(id, reason)]));
  };

  const put: ServerPool["put"] = (entry, { reason, heldBecause }) => {
    const stderr = members.get(entry.id)?.connection.stderr ?? "";
    const ended = end(entry.id, reason);
    const predecessor = { ended, stderr };
    const member = createPoolMember({ ...using(), entry, heldBecause, predecessor });
    members.set(entry.id, member);
    return { connection: member.connection, predecessorEnded: ended };
  };

  return {
    begin(entries, options) {
      given = options;
      for (const entry of entries) put(entry, { reason: "replaced", heldBecause: null });
    },
    get members() {
      return [...members.values()];
    },
    find: (id) => members.get(id) ?? null,
    known(id) {
      const member = members.get(id);
      if (member !== undefined) return member.connection;
      throw unknownServer(id);
    },
    async route(member, principal) {
      const { entry } = member.connection;
      // A server that was taken out gets no instances any more.
      if (!members.has(entry.id)) return member;
      return (await instances.memberFor(entry, principal)) ?? member;
    },
    instances,
    put,
    amend(entry) {
      const own = members.get(entry.id);
      for (const { connection, queue } of [own ?? [], instances.of(entry.id)].flat()) {
        connection.amend(entry).catch(using().onFault);
        queue.limitsChanged();
      }
    },
    take(id, reason) {
      const ended = end(id, reason);
      members.delete(id);
      return ended;
    },
    async start() {
      const automatic = [...members.values()].filter(
        ({ connection }) => connection.entry.config?.autoConnect,
      );
      await Promise.all(automatic.map(({ connection }) => connection.start()));
    },
    async stop() {
      await Promise.all([...members.values()].map(({ connection }) => connection.stop()));
      await Promise.all([endings.all(), instances.endAll()]);
    },
  };
}

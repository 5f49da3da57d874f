import { createServerInstances } from "./server-instances.ts";
import { failuresOf, type ServiceError } from "@switchyard/contracts/errors";
import { getServer } from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { Principal } from "@switchyard/contracts/policy/policy";
import type { ServerEntry } from "@switchyard/project/mcp-servers/server-config";
import { createPoolMember, type PoolMember } from "./pool-member.ts";
import { Endings } from "./endings.ts";
import type { ServerConnection, ServerConnectionOptions } from "./server-connection.ts";

export type ServerPool = ReturnType<typeof createServerPool>;

export interface PoolChange {
  /** The error of calls that end with the predecessor. */
  readonly reason: string;
  /** The reason why the server is to stay unconnected; null when it may connect. */
  readonly heldBecause: string | null;
}

export interface PoolOptions extends Omit<
  ServerConnectionOptions,
  "entry" | "heldBecause" | "predecessor"
> {
  /** Called for the connections of instances, which are not published. */
  readonly onInstanceChange: ServerConnectionOptions["onChange"];
  readonly onFault: (error: unknown) => void;
}

/** The error of every request about a server that does not exist. */
export function unknownServer(server: string): ServiceError {
  return fail.unknown_server(`MCP server not found: ${server}`, { server });
}

const fail = failuresOf(getServer.errors);

/** All servers, each with its own connection and its own queue: none can hold up another. */
export function createServerPool() {
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

  /**
   * Adds a server, replacing the one with its id. It connects when its connection is started, and not before the processes of its
   * predecessor are gone: then `predecessorEnded` resolves.
   */
  const put = (entry: ServerEntry, { reason, heldBecause }: PoolChange) => {
    const stderr = members.get(entry.id)?.connection.stderr ?? "";
    const ended = end(entry.id, reason);
    const predecessor = { ended, stderr };
    const member = createPoolMember({ ...using(), entry, heldBecause, predecessor });
    members.set(entry.id, member);
    return { connection: member.connection, predecessorEnded: ended };
  };

  return {
    /** Adds the first servers. Before it there are none: the parts that create connections may look for servers here. */
    begin(entries: readonly ServerEntry[], options: PoolOptions): void {
      given = options;
      for (const entry of entries) put(entry, { reason: "replaced", heldBecause: null });
    },
    /** In the order in which they came. */
    get members(): readonly PoolMember[] {
      return [...members.values()];
    },
    find: (id: string): PoolMember | null => members.get(id) ?? null,
    /** The server of this id; throws `unknown_server` when there is none. */
    known(id: string): ServerConnection {
      const member = members.get(id);
      if (member !== undefined) return member.connection;
      throw unknownServer(id);
    },
    /**
     * Returns the target of this principal's requests: the instance of its run or session, and the server itself when it is shared.
     * Rejects as `ServerInstances.memberFor` does.
     */
    async route(member: PoolMember, principal: Principal): Promise<PoolMember> {
      const { entry } = member.connection;
      // A removed server gets no new instances.
      if (!members.has(entry.id)) return member;
      return (await instances.memberFor(entry, principal)) ?? member;
    },
    /** Instances of servers that are not shared; they end with their server here. */
    instances,
    put,
    /** Takes over an entry that makes the same connection (`live-fields.ts`), without a new one. */
    amend(entry: ServerEntry): void {
      const own = members.get(entry.id);
      for (const { connection, queue } of [own ?? [], instances.of(entry.id)].flat()) {
        connection.amend(entry).catch(using().onFault);
        queue.limitsChanged();
      }
    },
    /** Removes a server. Resolves when no connection and no child process of it is left. */
    take(id: string, reason: string): Promise<void> {
      const ended = end(id, reason);
      members.delete(id);
      return ended;
    },
    /** Connects the servers that connect by themselves. Resolves when each had its first attempt, whatever its end. */
    async start(): Promise<void> {
      const automatic = [...members.values()].filter(
        ({ connection }) => connection.entry.config?.autoConnect,
      );
      await Promise.all(automatic.map(({ connection }) => connection.start()));
    },
    /** Resolves when no connection and no child process is left. */
    async stop(): Promise<void> {
      await Promise.all([...members.values()].map(({ connection }) => connection.stop()));
      await Promise.all([endings.all(), instances.endAll()]);
    },
  };
}

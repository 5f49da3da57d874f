import { failuresOf } from "@switchyard/contracts/errors";
import { callTool as contract } from "@switchyard/contracts/mcp-broker/mcp";
import type { Principal } from "@switchyard/contracts/policy/policy";
import { NotSentError } from "@switchyard/tool-provider/call-once";
import { Endings } from "./endings.ts";
import type { PoolMember } from "./pool-member.ts";
import type { ServerEntry } from "@switchyard/project/mcp-servers/server-config";

export type ServerInstances = ReturnType<typeof createServerInstances>;

/** The run or session that an instance belongs to. */
export interface Holder {
  readonly scope: "run" | "session";
  /** The run's id, or the session's id from the context of run tokens. */
  readonly id: string;
}

interface Instance {
  readonly server: string;
  /** The run or the session that it belongs to. */
  readonly holder: Holder;
  readonly member: PoolMember;
  readonly idleMs: number;
  cancelTimer: () => void;
}

const fail = failuresOf(contract.errors);

/**
 * Instances of servers that are not shared: one for each run or each session, made at its first
 * request, on the broker that owns the server. It ends with its run, or when it had no request for a while.
 */
export function createServerInstances(options: {
  /** Creates an unconnected instance with a queue of its own, which connects when nothing of the one before it is left. */
  create: (entry: ServerEntry, predecessorEnded: Promise<void>) => PoolMember;
  schedule: (delayMs: number, callback: () => void) => () => void;
  onFault: (error: unknown) => void;
}) {
  const instances = new Map<string, Instance>();
  const endings = new Endings();

  const of = (fits: (instance: Instance) => boolean): Instance[] =>
    [...instances.values()].filter(fits);

  const end = (instance: Instance, reason: string): Promise<void> => {
    const key = keyOf(instance);
    if (instances.get(key) === instance) instances.delete(key);
    instance.cancelTimer();
    return endings.add(key, instance.member.connection.stop(reason));
  };

  const watchIdle = (instance: Instance): void => {
    instance.cancelTimer();
    instance.cancelTimer = options.schedule(instance.idleMs, () => {
      const { inFlight, queued } = instance.member.queue;
      if (inFlight + queued > 0) watchIdle(instance);
      else end(instance, "it had no calls for a while").catch(options.onFault);
    });
  };

  const make = (
    entry: ServerEntry,
    { holder, idleMs }: { holder: Holder; idleMs: number },
  ): Instance => {
    const key = keyOf({ server: entry.id, holder });
    const member = options.create(entryOfInstance(entry), endings.of(key));
    const instance = { server: entry.id, holder, member, idleMs, cancelTimer: () => undefined };
    instances.set(key, instance);
    return instance;
  };

  return {
    /**
     * Returns the instance for a call of this principal; null for a shared server. Rejects with NotSentError when the call is of no
     * run or session, when there are too many instances, or when its own cannot be connected.
     */
    async memberFor(entry: ServerEntry, principal: Principal): Promise<PoolMember | null> {
      const { config, id } = entry;
      if (config === null || config.scope === "shared") return null;
      const { scope, maxInstances, instanceIdleMs: idleMs } = config;
      const holder = holderOf(scope, principal);
      if (holder === null) throw new NotSentError(scopeRequired(id, scope));
      const key = keyOf({ server: id, holder });
      const there = instances.get(key);
      if (there === undefined && of(({ server }) => server === id).length >= maxInstances)
        throw new NotSentError(exhausted({ server: id, scope, limit: maxInstances }));
      const instance = there ?? make(entry, { holder, idleMs });
      instance.cancelTimer(); // a slow start is no idleness
      await instance.member.connection.start();
      if (instances.get(key) === instance) watchIdle(instance);
      const { info } = instance.member.connection;
      // An instance that cannot be connected does not count towards the limit.
      if (info.status === "error" && instances.get(key) === instance)
        end(instance, info.lastError ?? "it could not be connected").catch(options.onFault);
      return instance.member;
    },
    count: (server: string): number => of((instance) => instance.server === server).length,
    /** The current instances of one server. */
    of: (server: string): readonly PoolMember[] =>
      of((instance) => instance.server === server).map(({ member }) => member),
    /** A run or a session has ended: nothing of it is left when this resolves. */
    async endHolder({ scope, id }: Holder): Promise<void> {
      const ended = of(({ holder }) => holder.scope === scope && holder.id === id);
      await Promise.all(ended.map((instance) => end(instance, `its ${scope} has ended`)));
    },
    /** Resolves when no process of the server's instances is left. */
    async endServer(server: string, reason: string): Promise<void> {
      const ended = of((instance) => instance.server === server);
      await Promise.all(ended.map((instance) => end(instance, reason)));
    },
    async endAll(): Promise<void> {
      await Promise.all(of(() => true).map((instance) => end(instance, "the broker stops")));
      await endings.all();
    },
  };
}

/** The run or session that a request's instance belongs to; a run without a session has no instance of a session. */
function holderOf(scope: Holder["scope"], { runId, context }: Principal): Holder | null {
  const id = scope === "run" ? runId : (context?.session ?? null);
  return id === null ? null : { scope, id };
}

/** Each instance has its own configuration object, by which the requests that a server sends back are assigned. */
function entryOfInstance(entry: ServerEntry): ServerEntry {
  const { config } = entry;
  return config === null ? entry : { ...entry, config: { ...config, instanceOf: config } };
}

function keyOf({ server, holder }: Pick<Instance, "server" | "holder">): string {
  return `${server}/${holder.scope}/${holder.id}`;
}

function scopeRequired(server: string, scope: string) {
  return fail.scope_required(
    scope === "run"
      ? `MCP server ${server} has an instance for each run, and this request carries no run token; send it from a run.`
      : `MCP server ${server} has an instance for each session, and this request's run token has no session; send it from a run that belongs to one.`,
    { server, scope },
  );
}

function exhausted(data: { server: string; scope: string; limit: number }) {
  return fail.instances_exhausted(
    `MCP server ${data.server} has its limit of ${data.limit} instances, one for each ${data.scope}; try again when a ${data.scope} has ended, or raise maxInstances.`,
    data,
  );
}

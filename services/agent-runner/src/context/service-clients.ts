import { client, type Client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { around, type ClientInterceptor } from "@switchyard/bus/interceptor";
import { recallMemory } from "@switchyard/contracts/toolbox/agent-memory";
import { getAgent } from "@switchyard/contracts/skill-importer/agents";
import { ServiceError } from "@switchyard/contracts/errors";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { cancelCall } from "@switchyard/contracts/mcp-broker/mcp-calls";
import { ensureServer } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import type { FileFacts } from "@switchyard/contracts/toolbox/file-access";
import { checkPolicy, filterPolicy, type Decision } from "@switchyard/contracts/policy/policy";
import { grantRun } from "@switchyard/contracts/policy/policy-grants";
import { skillCatalogue } from "@switchyard/contracts/skill-importer/skill-catalogue";
import { getSkill, renderSkill } from "@switchyard/contracts/skill-importer/skills";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { callBuiltin, cancelBuiltin, listBuiltins } from "@switchyard/contracts/toolbox/toolbox";
import { ensuringOwner } from "@switchyard/service/call-mcp-tool";
import { Suspended } from "../core/interruption.ts";
import { PromisedCache } from "@switchyard/contracts/promised-cache";

/** Idempotent calls: a repetition changes nothing more at the services. */
const idempotentCalls = {
  getAgent,
  skillCatalogue,
  renderSkill,
  getSkill,
  grantRun,
  listTools,
  listBuiltins,
  recallMemory,
};
/** Calls of tools and calls about them; the run handles their failures itself. */
const toolCalls = { ensureServer, callTool, cancelCall, callBuiltin, cancelBuiltin };

interface CallOptions {
  readonly signal: AbortSignal;
  readonly correlationId: string;
}

/** The services that a runner calls. */
export interface ServiceClients extends Client<typeof idempotentCalls>, Client<typeof toolCalls> {
  /** Returns those of the runner's own tools that the policy lets this token call with at least some arguments. */
  filterOwn(
    question: { token: string; names: readonly string[] },
    options: CallOptions,
  ): Promise<string[]>;
  /** Returns the policy's decision about a file that the run of the token is given with its input. */
  decideInputFile(
    question: { readonly token: string; readonly file: FileFacts },
    options: CallOptions,
  ): Promise<Decision>;
}

/** `instance` is the secret of this process, which only the policy receives. The interceptors apply to the idempotent calls. */
export function createServiceClients(
  bus: Bus,
  instance: string,
  interceptors: readonly ClientInterceptor[] = [],
): ServiceClients {
  const policy = client(bus, { checkPolicy, filterPolicy });
  const withInstance = around(grantRun, (call, next) =>
    next({ ...call, request: { ...call.request, instance } }),
  );
  return {
    ...client(bus, idempotentCalls, [...interceptors, withInstance]),
    ...client(bus, toolCalls, [ensuringOwner]),
    async filterOwn({ token, names }, options) {
      const tools = names.map(builtinToolRef);
      const question = { onBehalfOf: bus.user, token, tools };
      return (await policy.filterPolicy(question, options)).allowed;
    },
    async decideInputFile({ token, file: { name, mediaType, sizeBytes } }, options) {
      const tool = builtinToolRef("input_file");
      const args = { name, mediaType, sizeBytes };
      const question = { onBehalfOf: bus.user, token, tool, args };
      return (await policy.checkPolicy(question, options)).decision;
    },
  };
}

/** Calls a service; when the service is down the run is suspended and comes again after a pause. */
export async function suspendOnOutage<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    signal.throwIfAborted();
    if (!isOutage(error)) throw error;
    throw new Suspended("a service that the run needs is down", { cause: error });
  }
}

/** True when a service could not handle a request now, but may do so later: it is down, full or out of reach. */
export function isOutage(error: unknown): boolean {
  return error instanceof ServiceError && OUTAGES.has(error.code);
}

/**
 * Calls the importer for an agent or the list of skills only when the cache lifetime of an earlier reply is over: under load,
 * each of them would cost a run two messages for unchanged data. `now` in milliseconds, of a monotonic clock that counts pauses
 * of the process.
 */
export function cacheDefinitions(now: () => number = () => performance.now()): ClientInterceptor {
  const cache = new PromisedCache<Keepable>({ now, most: MAX_KEPT });
  const kept = async (key: string, ask: () => Promise<Keepable>): Promise<Keepable> => {
    // If the last reply could be cached, so can the next: concurrent callers share one request when its lifetime ends.
    const other = cache.has(key) ? cache.underWay(key) : null;
    if (other !== null) await other.catch(() => undefined);
    const found = cache.find(key);
    if (found !== undefined) return found;
    return cache.ask(key, async () => {
      const askedAt = now();
      const reply = await ask();
      const { keepForMs } = reply;
      cache.keep(key, reply, keepForMs === undefined ? null : askedAt + keepForMs);
      return reply;
    });
  };
  return (next) => (call) => {
    // Both contracts have the cache lifetime in their replies.
    const ask = () => next(call) as Promise<Keepable>;
    const { contract, request } = call;
    if (contract === getAgent) return kept(`agent ${JSON.stringify(request)}`, ask);
    if (contract === skillCatalogue) return kept(`skills ${keyOfCatalogue(request)}`, ask);
    return ask();
  };
}

const OUTAGES: ReadonlySet<string> = new Set([
  "timeout",
  "no_responders",
  "disconnected",
  "overloaded",
  "deadline_exceeded",
  "internal",
  "policy_unavailable",
  // The claim is over or has just changed hands: the next attempt finds which runner holds the run.
  "not_held",
  // Every key was revoked, and the next one is not stored yet.
  "no_key",
  "store_unavailable",
]);

type Keepable = { readonly keepForMs?: number | undefined };

/** The number of cached agents and lists of skills; many more than are in use within half a second. */
const MAX_KEPT = 1_000;

/** A list that may be cached is complete, so it does not depend on the work. */
function keyOfCatalogue(request: unknown): string {
  return JSON.stringify({ ...(request as object), about: undefined });
}

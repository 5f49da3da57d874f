import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import type { CallContext } from "@switchyard/bus/handler";
import type { Rpc } from "@switchyard/contracts/define";
import { failuresOf, isError, ServiceError } from "@switchyard/contracts/errors";
import { listTools } from "@switchyard/contracts/mcp-broker/mcp";
import {
  checkPolicy,
  filterPolicy,
  type AccessKind,
  type Principal,
  type ServerFacts,
} from "@switchyard/contracts/policy/policy";
import type { StopInForce } from "@switchyard/contracts/policy/policy-budgets";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { z } from "zod";
import type { Decided, DecisionCache } from "./decision-cache.ts";
import { keepDecisions } from "./keep-decisions.ts";
import { mayUseServer, narrowByRoles, type FactsOf, type RolesOf } from "./server-access.ts";

/** The caller of a request, and how long an answer is of use. */
export interface Requester {
  /** The `{caller}` token of the request that the provider serves. */
  readonly onBehalfOf: string;
  readonly token: string | undefined;
  readonly deadline: number;
  readonly signal: AbortSignal;
  readonly correlationId: string;
  readonly traceparent: string;
  /** The user token with which the gateway called for the caller. */
  readonly userToken?: string | undefined;
  /** Called when the policy has reserved a slot for the call; see `call-in-work.ts`. */
  readonly onReserved?: (reservation: string) => void;
}

/** The requester of a client's request, which may carry a run token. */
export function requesterOf<R extends Rpc>(
  context: CallContext<R>,
  token: string | undefined,
): Requester {
  const { caller: onBehalfOf, deadline, signal, correlationId, traceparent, userToken } = context;
  return { onBehalfOf, token, deadline, signal, correlationId, traceparent, userToken };
}

/** The requested access; a tool call unless `kind` is another one. */
export interface Question {
  readonly ref: ToolRef;
  readonly args: Record<string, unknown>;
  readonly kind?: AccessKind;
  /** Digest of the tool's approved definition. */
  readonly pin?: string;
}

/**
 * Calls the policy service, and narrows what it allows by the server's roles. Fails closed: any unclear answer is `policy_unavailable`, and
 * then nothing happens. A token that the policy refuses is the caller's `invalid_token`.
 */
export interface PolicyGate {
  check(question: Question, requester: Requester): Promise<Decided>;
  /** The principal, as the policy reads the token. */
  identify(requester: Requester): Promise<Principal>;
  /**
   * The names that the principal may use with at least some arguments. Rejects with `run_stopped` for a request for tools with the token of
   * a run that is stopped: with an empty list the run would continue as if it had none.
   */
  filter(
    refs: readonly ToolRef[],
    requester: Requester,
    kind?: AccessKind,
  ): Promise<ReadonlySet<string>>;
}

export interface PolicyGateOptions {
  /** With null, the policy is called for every call. */
  readonly cache: DecisionCache | null;
  readonly rolesOf: RolesOf;
  /** Left out, there are no facts about any server. */
  readonly factsOf?: FactsOf;
  /** Called for every check of a tool call, with true when a cached decision answered it. */
  readonly onChecked: (isHit: boolean) => void;
}

/** The most names that the contract accepts in one request. */
const MAX_FILTERED = 20_000;

/** Both declare `invalid_token` and `policy_unavailable` alike. */
const fail = failuresOf(listTools.errors);

/** The bus has to be that of a user who may request decisions from the policy; see `topology.ts`. */
export function createPolicyGate(bus: Bus, options: PolicyGateOptions): PolicyGate {
  const { cache, rolesOf, factsOf = () => null, onChecked } = options;
  const kept = cache === null ? [] : keepDecisions(cache, onChecked);
  const policy = client(bus, { checkPolicy, filterPolicy }, kept);

  const decide = async ({ ref, args, kind, pin }: Question, requester: Requester) => {
    const facts = ref.server === null ? null : factsOf(ref.server);
    const reply = await orUnavailable(() =>
      policy.checkPolicy(
        {
          ...principalOf(requester),
          tool: ref,
          args,
          ...(kind === undefined ? {} : { kind }),
          ...(pin === undefined ? {} : { pin }),
          ...(facts === null ? {} : { server: facts }),
        },
        limits(checkPolicy, requester),
      ),
    );
    return reserved(aboutRequester(reply, requester), requester);
  };
  const filter = async (
    tools: readonly ToolRef[],
    requester: Requester,
    kind: AccessKind | undefined,
  ) => {
    const servers = factsOfTools(tools, factsOf);
    return orUnavailable(() =>
      policy.filterPolicy(
        {
          ...principalOf(requester),
          // An unchanged list is the same array at each call, since cached replies refer to it. No interceptor changes it.
          tools: tools as ToolRef[],
          ...(kind === undefined ? {} : { kind }),
          ...(servers === null ? {} : { servers }),
        },
        limits(filterPolicy, requester),
      ),
    );
  };

  return {
    async check(question, requester) {
      const decided = await decide(question, requester);
      const { server } = question.ref;
      if (server === null) return decided;
      const decision = narrowByRoles(decided, { server, roles: rolesOf(server) });
      return { ...decided, decision };
    },
    async identify(requester) {
      const { principal } = await orUnavailable(() =>
        policy.filterPolicy(
          { ...principalOf(requester), tools: [] },
          limits(filterPolicy, requester),
        ),
      );
      return principal ?? unknownPrincipal(requester);
    },
    async filter(refs, requester, kind) {
      const allowed = new Set<string>();
      // There is always one request, or an empty list would hide a token that is refused.
      for (let start = 0; start === 0 || start < refs.length; start += MAX_FILTERED) {
        const tools = refs.length <= MAX_FILTERED ? refs : refs.slice(start, start + MAX_FILTERED);
        const reply = await filter(tools, requester, kind);
        const names = namesOf(reply);
        if (kind === undefined || kind === "tool") refuseStopped(requester, reply.stopped);
        const isOpen = serverOpenness(rolesOf, reply.principal ?? unknownPrincipal(requester));
        for (const { name, server } of tools) {
          if (names.has(name) && (server === null || isOpen(server))) allowed.add(name);
        }
      }
      return allowed;
    },
  };
}

function refuseStopped({ token }: Requester, stopped: StopInForce | undefined): void {
  if (stopped === undefined || token === undefined) return;
  throw fail.run_stopped(`The run is stopped by an administrator: ${stopped.reason}`, stopped);
}

type FilterReply = z.output<typeof filterPolicy.reply>;
/** A cached reply about a long list is used many times. */
const names = new WeakMap<FilterReply, ReadonlySet<string>>();

function namesOf(reply: FilterReply): ReadonlySet<string> {
  const known = names.get(reply) ?? new Set(reply.allowed);
  names.set(reply, known);
  return known;
}

function reserved<T extends { readonly reservation?: string | undefined }>(
  reply: T,
  { onReserved }: Requester,
): T {
  if (reply.reservation !== undefined) onReserved?.(reply.reservation);
  return reply;
}

/** Without a token the requester is identified by the caller alone: an answer about another one is not an answer. */
function aboutRequester<T extends { readonly principal: Principal }>(
  reply: T,
  requester: Requester,
): T {
  if (requester.token !== undefined || reply.principal.user === requester.onBehalfOf) return reply;
  throw fail.policy_unavailable(
    "The policy service answered about another user, so the call was not made; look at its log.",
    { cause: "fault" },
  );
}

/** Computes the answer once for each server: a list has many tools of few of them. */
function serverOpenness(rolesOf: RolesOf, principal: Principal): (server: string) => boolean {
  const known = new Map<string, boolean>();
  return (server) => {
    const isOpen = known.get(server) ?? mayUseServer(rolesOf(server), principal);
    known.set(server, isOpen);
    return isOpen;
  };
}

/** A policy service that does not resolve the principal of a token: an agent without roles, to be careful. */
function unknownPrincipal({ onBehalfOf, token }: Requester): Principal {
  return { user: onBehalfOf, agent: token === undefined ? null : "unknown", runId: null };
}

/** The facts by server; null when there are none. */
function factsOfTools(
  tools: readonly ToolRef[],
  factsOf: FactsOf,
): Record<string, ServerFacts> | null {
  const servers = new Set(tools.flatMap(({ server }) => server ?? []));
  const facts = [...servers].flatMap((server): [string, ServerFacts][] => {
    const known = factsOf(server);
    return known === null ? [] : [[server, known]];
  });
  return facts.length === 0 ? null : Object.fromEntries(facts);
}

function principalOf({ onBehalfOf, token }: Requester): { onBehalfOf: string; token?: string } {
  return token === undefined ? { onBehalfOf } : { onBehalfOf, token };
}

function limits({ timeoutMs }: Rpc, { deadline, signal, correlationId, traceparent }: Requester) {
  return {
    deadline: Math.min(deadline, Date.now() + timeoutMs),
    signal,
    correlationId,
    traceparent,
  };
}

async function orUnavailable<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (isError(error, checkPolicy, "invalid_token"))
      throw fail.invalid_token(error.message, error.data);
    // The error names a remedy.
    if (isError(error, checkPolicy, "audit_unavailable"))
      throw fail.policy_unavailable(`${error.message} The call was not made.`, {
        cause: error.code,
      });
    const cause = error instanceof ServiceError ? error.code : "fault";
    throw fail.policy_unavailable(
      `The policy service gave no answer (${cause}), so the call was not made; try again when it is up.`,
      { cause },
    );
  }
}

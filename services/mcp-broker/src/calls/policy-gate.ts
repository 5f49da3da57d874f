import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { failuresOf, isError, ServiceError } from "@switchyard/contracts/errors";
import { listTools } from "@switchyard/contracts/mcp";
import {
  checkPolicy,
  filterPolicy,
  type Decision,
  type Principal,
} from "@switchyard/contracts/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";

/** Who asks, and how long an answer is of use. */
export interface AskedFor {
  /** The `{caller}` token of the request that the broker serves. */
  readonly onBehalfOf: string;
  readonly token: string | undefined;
  readonly deadline: number;
  readonly signal: AbortSignal;
  readonly correlationId: string;
  readonly traceparent: string;
}

/**
 * Asks the policy service. Fails closed: whatever is not a clear answer is `policy_unavailable`,
 * and then nothing happens. A token that the policy refuses is the caller's `invalid_token`.
 */
export interface PolicyGate {
  check(
    call: { ref: ToolRef; args: Record<string, unknown> },
    asked: AskedFor,
  ): Promise<{ decision: Decision; principal: Principal }>;
  /** The canonical names that the principal may call with at least some arguments. */
  filter(refs: readonly ToolRef[], asked: AskedFor): Promise<ReadonlySet<string>>;
}

const TIMEOUT_MS = 2_000;
/** What the contract takes in one question. */
const MAX_FILTERED = 20_000;

/** Both declare `invalid_token` and `policy_unavailable` alike. */
const fail = failuresOf(listTools.errors);

export function createPolicyGate(bus: Bus): PolicyGate {
  const policy = client(bus, { checkPolicy, filterPolicy });
  return {
    check: ({ ref, args }, asked) =>
      orUnavailable(() =>
        policy.checkPolicy({ ...principal(asked), tool: ref, args }, limits(asked)),
      ),
    async filter(refs, asked) {
      const allowed = new Set<string>();
      // Never without a question, or an empty list would hide a token that is refused.
      for (let start = 0; start === 0 || start < refs.length; start += MAX_FILTERED) {
        const tools = refs.slice(start, start + MAX_FILTERED);
        const reply = await orUnavailable(() =>
          policy.filterPolicy({ ...principal(asked), tools }, limits(asked)),
        );
        for (const name of reply.allowed) allowed.add(name);
      }
      return allowed;
    },
  };
}

function principal({ onBehalfOf, token }: AskedFor): { onBehalfOf: string; token?: string } {
  return token === undefined ? { onBehalfOf } : { onBehalfOf, token };
}

function limits({ deadline, signal, correlationId, traceparent }: AskedFor) {
  return {
    deadline: Math.min(deadline, Date.now() + TIMEOUT_MS),
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
    const cause = error instanceof ServiceError ? error.code : "fault";
    throw fail.policy_unavailable(
      `The policy service gave no answer (${cause}), so the call was not made; try again when it is up.`,
      { cause },
    );
  }
}

import type { Handler } from "@switchyard/bus/handler";
import type { grantRun } from "@switchyard/contracts/policy/policy-grants";
import {
  RUN_TOKEN_AUDIENCE,
  RUN_TOKEN_ISSUER,
  RUN_TOKEN_MAX_LENGTH,
  type RunTokenClaims,
} from "@switchyard/contracts/policy/run-token";
import { RunTokenError } from "@switchyard/service/run-token";
import type { z } from "zod";
import { stopInForce, STOPS_UNKNOWN, stopReason, type StopList } from "../stops/stop-list.ts";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import { inherit } from "@switchyard/rules/layers/inherit";
import type { RunRecords } from "../runs/run-records.ts";
import { hasRight } from "@switchyard/rules/rights/has-right";
import { mayStart, unbelieved } from "@switchyard/rules/rights/may-start";
import { epochOfHeld } from "./held-run.ts";

export interface GrantParts {
  readonly verify: (token: string) => Promise<RunTokenClaims>;
  readonly sign: (claims: RunTokenClaims) => Promise<string>;
  readonly bundle: () => CompiledBundle;
  readonly stops: Pick<StopList, "ofRun" | "isCurrent">;
  readonly runs: RunRecords;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

/**
 * Mints run tokens, for runs that the calling runner holds, that their requester may start and that are not stopped. Only the
 * user that requested a token can use it, or the user that claims the session of the run. The limits of a run that another one started are taken from the other's token.
 */
export function createGrant(parts: GrantParts): Handler<typeof grantRun> {
  return async (request, { fail, caller }) => {
    const { runId, heldRun, forUser, instance, agent, requester, origin = {} } = request;
    if (instance === undefined)
      throw fail.policy_unavailable(
        "a runner of an earlier version asks, and does not show that it holds the run: replace it",
        { cause: "no instance" },
      );
    const finding =
      forUser === undefined
        ? epochOfHeld(parts.runs, { runId, heldRun, instance })
        : claimOf(parts.runs, { runId, requester, forUser });
    const held = await finding.catch((error: unknown) => {
      const cause = error instanceof Error ? error.name : "unknown";
      const message = `Redis does not return the holder of run ${runId}; try again`;
      throw fail.policy_unavailable(message, { cause });
    });
    if (held === null && forUser !== undefined)
      throw fail.not_held(`run ${runId} is no run of user ${forUser}, by its record`, { runId });
    if (held === null)
      throw fail.not_held(
        `the runner that asks does not hold run ${heldRun ?? runId}${heldRun === undefined ? "" : `, or that does not work for run ${runId}`}; take the run first`,
        { runId },
      );
    const inherited = await inherit(parts.verify, request);
    if (inherited.kind === "refused")
      throw fail.invalid_parent(inherited.message, { reason: inherited.reason });
    const { context, parentAgent: parent } = inherited;
    const bundle = parts.bundle();

    if (!mayStart(bundle.starts, { agent, requester, parent })) {
      const by = parent === null ? "" : ` through a run of agent ${parent}`;
      throw fail.may_not_start(
        `user ${requester} may not start agent ${agent}${by}: no entry of starters in the policy allows it`,
        { agent, requester },
      );
    }
    if (
      parent === null &&
      origin.replayed === true &&
      !hasRight(bundle.rights, "replay", requester)
    )
      throw fail.may_not_replay(
        `user ${requester} may not play a recording: rights of the policy gives replay to others`,
        { requester },
      );
    // Only services can deliver a message for another user, and only the runner can attest that one did.
    const isBelieved = parent !== null || request.broughtBy !== undefined;
    const doubted = isBelieved ? [] : unbelieved(bundle.starts, { requester, origin });
    if (doubted.length > 0)
      throw fail.origin_refused(
        `user ${requester} may not say the ${doubted.join(", ")} of a run: origins.users in the policy does not name it`,
        { requester, parts: doubted },
      );
    if (!(await parts.stops.isCurrent()))
      throw fail.policy_unavailable(STOPS_UNKNOWN, { cause: "StoreError" });
    const stop = parts.stops.ofRun({ user: requester, agent, runId, ...(context && { context }) });
    if (stop !== null) throw fail.stopped(stopReason(stop), stopInForce(stop));

    const hasShare =
      request.sharesMemory === true && hasRight(bundle.rights, "share-memory", requester);
    const claims = claimsOf(request, {
      hasShare,
      epoch: held.epoch,
      inherited,
      holder: forUser ?? caller,
      nowMs: parts.now(),
    });
    const token = await signed(parts, claims, {
      too_large: (message) => fail.token_too_large(message, { limit: RUN_TOKEN_MAX_LENGTH }),
      revoked: (message) => fail.no_key(message, {}),
    });
    const expiresAt = new Date(claims.exp * 1000).toISOString();
    return { token, expiresAt, policyDigest: bundle.digest };
  };
}

/** The claim of a user to act in the session of a run: the run has to be the user's own. */
async function claimOf(
  runs: Pick<RunRecords, "requesterOf">,
  { runId, requester, forUser }: { runId: string; requester: string; forUser: string },
): Promise<{ readonly epoch: null } | null> {
  const isOwn = requester === forUser && (await runs.requesterOf(runId)) === forUser;
  return isOwn ? { epoch: null } : null;
}

type GrantRequest = z.output<typeof grantRun.request>;
type Inherited = Extract<Awaited<ReturnType<typeof inherit>>, { kind: "inherited" }>;

interface Minting {
  readonly inherited: Inherited;
  readonly hasShare: boolean;
  /** Null for a run that the caller does not hold itself, or whose session a user claims. */
  readonly epoch: number | null;
  readonly holder: string;
  readonly nowMs: number;
}

function claimsOf(
  { runId, agent, requester, roles = [], ttlSeconds, forUser }: GrantRequest,
  { inherited, hasShare, epoch, holder, nowMs }: Minting,
): RunTokenClaims {
  const { tools, approval } = inherited;
  // A user who claims the session of an owner of the installation is no owner by that.
  const { owner, ...others } = inherited.context ?? {};
  const claimed = owner === true ? others : inherited.context;
  // The right is not inherited: a run that shares a parent's memory does not share that of its sub-agents.
  const context =
    hasShare || forUser !== undefined
      ? {
          ...(forUser === undefined ? inherited.context : claimed),
          ...(hasShare && { sharesMemory: true as const }),
          // A user makes the calls in the place of the agent's model (decision 034).
          ...(forUser !== undefined && { replayed: true as const, dictatedBy: forUser }),
        }
      : inherited.context;
  const iat = Math.floor(nowMs / 1000);
  return {
    iss: RUN_TOKEN_ISSUER,
    aud: RUN_TOKEN_AUDIENCE,
    sub: agent,
    run: runId,
    ...(epoch !== null && { epoch }),
    ...(epoch === null && forUser === undefined && { handsDown: true as const }),
    requester,
    holder,
    tools,
    ...(roles.length === 0 ? {} : { roles }),
    ...(approval && { approval }),
    ...(context && { context }),
    iat,
    exp: iat + ttlSeconds,
  };
}

async function signed(
  { sign }: Pick<GrantParts, "sign">,
  claims: RunTokenClaims,
  refusals: Readonly<Record<"too_large" | "revoked", (message: string) => Error>>,
): Promise<string> {
  try {
    return await sign(claims);
  } catch (error) {
    if (!(error instanceof RunTokenError)) throw error;
    const { reason, message } = error;
    if (reason === "too_large" || reason === "revoked") throw refusals[reason](message);
    throw error;
  }
}

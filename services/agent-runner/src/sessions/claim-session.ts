import type { Service } from "@switchyard/bus/serve";
import { ServiceError } from "@switchyard/contracts/errors";
import { claimSession } from "@switchyard/contracts/agent-runner/session-claims";
import type { z } from "zod";
import { isOutage } from "../context/service-clients.ts";
import { grantToken, granteeOf } from "../context/run-token-keeper.ts";
import { replay } from "../core/replay.ts";
import type { RunState } from "../core/run-state.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import { findSession } from "./session-store.ts";
import { unknown } from "./session-handlers.ts";
import type { SessionParts } from "./session-parts.ts";
import type { SessionState } from "./session-record.ts";

type Claims = Pick<z.output<typeof claimSession.request>, "agent" | "channel" | "group" | "depth">;

/**
 * Handles claims of programs that act for a session [F39]: the session's run, in progress or last, is the record. The policy checks that the run is
 * the caller's own before it signs a token.
 */
export function handleClaims(service: Service, parts: SessionParts): void {
  service.handle(claimSession, async ({ session: ref, ...claims }, { caller, fail, signal }) => {
    const found = await findSession(parts.store, { ref, caller });
    if (found === null || found.session.owner !== caller)
      throw fail.unknown_session(unknown(ref), { session: ref });
    const state = await recordOf(parts, found.session);
    if (state === null) {
      const message = `session ${ref} has no run whose record could confirm a claim; send a message to the session first`;
      throw fail.no_run(message, { session: ref });
    }
    const facts = factsOf(state.started);
    const wrong = falseClaim(claims, facts);
    if (wrong !== null) {
      const { claim, claimed, recorded } = wrong;
      const has = recorded === null ? `no ${claim}` : `the ${claim} ${recorded}`;
      const message = `the claim ${claim} ${claimed} is false: the record of session ${ref} has ${has}; correct the claim or leave it out`;
      throw fail.false_claim(message, wrong);
    }
    const { clients, runs } = parts;
    const granted = grantToken(granteeOf(state), {
      clients,
      load: (runId) => runs.load(runId),
      forUser: caller,
      signal,
    });
    const { token, expiresAt } = await granted.catch((error: unknown) => {
      if (!(error instanceof ServiceError) || isPassing(error)) throw error;
      throw fail.claim_refused(error.message, { reason: error.code });
    });
    const { sessionId, key: sessionKey } = found.session;
    const until = new Date(expiresAt).toISOString();
    return { token, expiresAt: until, sessionId, sessionKey, ...facts };
  });
}

/** A refusal as `not_held` passes for runs, and is final here: the run is not the caller's. */
function isPassing(error: ServiceError): boolean {
  return error.code !== "not_held" && isOutage(error);
}

/**
 * Returns the run that is the record of the session: the one in progress, or the last one. A run with the limits of another session, such as one that answers
 * an announced result, is the record only where the session has no other run.
 */
async function recordOf(
  { runs }: SessionParts,
  { active, lastRun, ownRun }: SessionState,
): Promise<RunState | null> {
  const now = active?.begun === true ? active.runId : lastRun?.runId;
  for (const runId of new Set([now, ownRun, lastRun?.runId])) {
    const entries = runId === undefined ? [] : await runs.load(runId);
    if (entries.length === 0) continue;
    const state = replay(entries);
    if (state.started.sender === undefined || ownRun === undefined) return state;
  }
  return null;
}

function factsOf({ agent, origin = {} }: StartedEntry) {
  const { channel = null, group = null, depth = 0 } = origin;
  return { agent, channel, group, depth };
}

/** Returns the first claim that the record does not confirm. `slack` is true of the channel `slack:eng`, which names the account, too. */
export function falseClaim(claims: Claims, facts: ReturnType<typeof factsOf>) {
  for (const claim of ["agent", "channel", "group", "depth"] as const) {
    const [claimed, recorded] = [claims[claim], facts[claim]];
    if (claimed === undefined || claimed === recorded) continue;
    if (claim !== "channel" || recorded?.toString().startsWith(`${claimed}:`) !== true)
      return {
        claim,
        claimed: String(claimed),
        recorded: recorded === null ? null : String(recorded),
      };
  }
  return null;
}

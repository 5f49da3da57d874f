import { RunTokenClaims } from "@switchyard/contracts/policy/run-token";
import type { Requester } from "@switchyard/tool-provider/policy-gate";
import { z } from "zod";

const { requester, tools, context } = RunTokenClaims.partial().shape;
const Read = z.object({ requester, tools, context });

/** Reads claims of a token that the policy has verified; those that cannot be read are missing. */
export function claimsIn(token: string): z.output<typeof Read> {
  const [, payload = ""] = token.split(".");
  try {
    const text = Buffer.from(payload, "base64url").toString();
    return Read.safeParse(JSON.parse(text)).data ?? {};
  } catch {
    return {};
  }
}

/**
 * True for a caller with the token of a confirmed claim: it acts for the session of a run, under its rules, and the run does not make the call. Tools work for
 * it as for any program of a user, which names its session.
 */
export function isClaimant({
  token,
  onBehalfOf,
}: Pick<Requester, "token" | "onBehalfOf">): boolean {
  const claims = token === undefined ? {} : claimsIn(token);
  return claims.requester === onBehalfOf && claims.context?.dictatedBy === onBehalfOf;
}

import { createHash } from "node:crypto";
import { cutText } from "@switchyard/contracts/cut-text";
import { CallerName } from "@switchyard/contracts/ids";
import type { UserRole } from "@switchyard/contracts/user-roles";
import { StoreError } from "@switchyard/service/store-error";
import { createRemoteJWKSet, decodeJwt, errors, jwtVerify, type JWTPayload } from "jose";
import type { Issuer } from "./issuers-file.ts";
import { BadCredential, type SignedIn } from "./sign-in.ts";

const CLOCKS_DIFFER_SECONDS = 5;
const JWKS_TIMEOUT_MS = 5_000;

export interface IssuerTokens {
  /** Verifies a token for this installation, with which a program signs in. */
  readonly accessToken: (token: string) => Promise<SignedIn>;
  /** Verifies an ID token that the issuer gave the gateway for a person who has just signed in there, by its nonce. */
  readonly idToken: (token: string, nonce: string) => Promise<SignedIn>;
}

/**
 * Verifies JWTs of the configured issuers. The issuer's keys are fetched once and cached; an unknown key id causes another fetch,
 * at most every 30 seconds.
 */
export function createIssuerTokens(issuers: readonly Issuer[], now: () => number): IssuerTokens {
  const known = new Map(
    issuers.map((issuer) => [
      issuer.issuer,
      {
        issuer,
        keys: createRemoteJWKSet(new URL(issuer.jwksUri), { timeoutDuration: JWKS_TIMEOUT_MS }),
      },
    ]),
  );
  const verified = async (token: string, nonce: string | null): Promise<SignedIn> => {
    const found = known.get(issuerOf(token));
    if (found === undefined)
      throw new BadCredential("issuer", "the token is of an issuer that is not configured here");
    const { issuer, keys } = found;
    const isIdToken = nonce !== null;
    const audience = isIdToken ? issuer.clientId : issuer.audience;
    if (audience === undefined)
      throw new BadCredential("issuer", `${issuer.issuer} allows no sign-in: it has no clientId`);
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: issuer.issuer,
        audience,
        algorithms: issuer.algorithms,
        requiredClaims: ["sub", "exp"],
        clockTolerance: CLOCKS_DIFFER_SECONDS,
        currentDate: new Date(now()),
        ...(isIdToken || issuer.type === undefined ? {} : { typ: issuer.type }),
      });
      if (isIdToken && payload["nonce"] !== nonce)
        throw new BadCredential("nonce", "the token is not the one of this sign-in");
      return identityOf(payload, issuer);
    } catch (error) {
      throw refusalOf(error, { issuer: issuer.issuer, audience });
    }
  };
  return {
    accessToken: (token) => verified(token, null),
    idToken: (token, nonce) => verified(token, nonce),
  };
}

function identityOf(payload: JWTPayload, issuer: Issuer): SignedIn {
  const { caller, roles } = issuer;
  const named = payload[caller.claim];
  const name = typeof named === "string" ? named : "";
  const parsed = CallerName.safeParse(callerNamed(name, issuer));
  if (name === "" || !parsed.success)
    throw new BadCredential(
      "caller",
      `the token's claim ${caller.claim} is missing or does not make a caller name with ${caller.prefix} before it, and caller.names of its issuer has no name for it`,
    );
  const given = payload[roles.claim];
  const values = (Array.isArray(given) ? given : [given]).filter(
    (value) => typeof value === "string",
  );
  const all = new Set<UserRole>([
    ...roles.everybody,
    ...values.flatMap((value) =>
      Object.hasOwn(roles.values, value) ? (roles.values[value] ?? []) : [],
    ),
  ]);
  if (all.size === 0)
    throw new BadCredential("roles", `the token's claim ${roles.claim} gives no role here`);
  return {
    caller: parsed.data,
    roles: [...all],
    credential: cutText(`oidc:${payload.sub ?? ""}`, 200),
    expiresAt: (payload.exp ?? 0) * 1_000,
  };
}

/** A subject is the issuer's own identifier and has any form, so a subject that is no caller name is replaced by its digest. */
function callerNamed(name: string, { caller: { claim, prefix, names } }: Issuer): string {
  if (Object.hasOwn(names, name)) return names[name] ?? "";
  const given = `${prefix}${name}`;
  if (claim !== "sub" || CallerName.safeParse(given).success) return given;
  return `${prefix}${createHash("sha256").update(name).digest("hex").slice(0, 20)}`;
}

function issuerOf(token: string): string {
  try {
    return decodeJwt(token).iss ?? "";
  } catch {
    throw new BadCredential("malformed", "the token cannot be read");
  }
}

/** Describes the problem of the token without showing any part of it. */
function refusalOf(
  error: unknown,
  { issuer, audience }: Pick<Issuer, "issuer" | "audience">,
): Error {
  if (error instanceof BadCredential) return error;
  if (error instanceof errors.JWTExpired)
    return new BadCredential("expired", "the token has expired: sign in again");
  if (error instanceof errors.JWTClaimValidationFailed)
    return new BadCredential(
      "claims",
      `the token's ${error.claim} is refused: it must be of ${issuer} for ${audience}`,
    );
  const isOfToken =
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JOSENotSupported ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWTInvalid;
  if (isOfToken) return new BadCredential("signature", `the token is not signed by ${issuer}`);
  return new StoreError(`the keys of ${issuer} cannot be fetched`, { cause: error });
}

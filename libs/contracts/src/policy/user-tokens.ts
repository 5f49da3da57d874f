import { z } from "zod";
import { event, rpc } from "../define.ts";
import { CallerName, Timestamp } from "../ids.ts";
import { RUN_TOKEN_ISSUER } from "./run-token.ts";
import { UserRole, UserScope } from "../user-roles.ts";

/** `aud` of every user token: the services that serve requests and receive commands. */
export const USER_TOKEN_AUDIENCE = "switchyard/callers";

/** Characters that a user token may have: it travels in a header. */
export const USER_TOKEN_MAX_LENGTH = 8_192;

/** The lifetime of a user token, in seconds. */
export const USER_TOKEN_SECONDS = 60;

export const UserRoles = z.array(UserRole).min(1).max(4);
export const UserScopes = z.array(UserScope).max(32);
/**
 * The credential that signed in: the id of an API key, `laptop`, or `oidc:` and the subject at the issuer. A session has that of its
 * beginning.
 */
export const CredentialName = z.string().min(1).max(200);

/** A browser's session; no secret. */
export const UserSessionId = z
  .string()
  .regex(
    /^ses-[0-9a-f]{16}$/,
    "must be an id such as ses-0123456789abcdef, as user-session.list shows",
  );

/**
 * The claims of a user token: the user for whom the gateway sends a message. The policy service signs them (compact JWS, EdDSA) for a
 * credential that it has verified. Times are seconds since the Unix epoch (RFC 7519).
 */
export const UserTokenClaims = z.strictObject({
  iss: z.literal(RUN_TOKEN_ISSUER),
  aud: z.literal(USER_TOKEN_AUDIENCE),
  /** The caller, the same kind of name that a NATS user has. */
  sub: CallerName,
  roles: UserRoles,
  scopes: UserScopes.optional(),
  credential: CredentialName,
  iat: z.int().nonnegative(),
  exp: z.int().positive(),
});
export type UserTokenClaims = z.infer<typeof UserTokenClaims>;

/** The user of a credential or a token. */
export const UserIdentity = z.object({
  caller: CallerName,
  roles: UserRoles,
  scopes: UserScopes.optional(),
  credential: CredentialName,
});
export type UserIdentity = z.infer<typeof UserIdentity>;

export const UserStoreUnavailable = {
  data: z.object({ cause: z.string() }),
  retryable: true,
} as const;

/** The credential that a client presents to the gateway. */
export const Credential = z.string().min(1).max(16_384);

export const signInErrors = {
  /** Unknown, expired, revoked, of another issuer or audience. The message names the reason, and never shows the credential. */
  bad_credential: { data: z.object({ reason: z.string() }) },
  users_unavailable: UserStoreUnavailable,
} as const;

/** Only the gateway may call it, and only for a user that presented a credential. */
export const issueUserToken = rpc({
  subject: "yard.rpc.{caller}.policy.user-token.issue",
  summary: "Verifies an API key, a session, a JWT or the token of yard dev; answers a user token.",
  request: z.strictObject({ credential: Credential }),
  reply: UserIdentity.extend({
    /** The id of the session that was presented. */
    session: UserSessionId.optional(),
    token: z.string(),
    expiresAt: Timestamp,
  }),
  errors: signInErrors,
});

/**
 * Called by the toolbox alone, whose platform tools act for callers: with a user that a run token or a subject has proven, after the policy
 * has allowed the call. The rights of the gateway's own users are in the token that came with their request, and that one is passed on.
 */
export const actForUser = rpc({
  subject: "yard.rpc.{caller}.policy.user-token.act-for",
  summary: "Answers a user token for the caller of a platform tool; for the toolbox alone.",
  request: z.strictObject({ user: CallerName }),
  reply: z.object({ token: z.string(), expiresAt: Timestamp }),
  errors: {
    /** The name is that of a service, for which no user may act. */
    reserved_caller: { data: z.object({ caller: z.string() }) },
  },
  timeoutMs: 2_000,
});

/**
 * Called by the gateway alone, which names the issuers to OAuth clients without a credential (RFC 9728 §2): each is a public address, and
 * nothing else of its entry is in the reply.
 */
export const listIssuers = rpc({
  subject: "yard.rpc.{caller}.policy.user-token.issuers",
  summary: "Lists the issuers whose tokens are accepted; for the gateway alone.",
  request: z.strictObject({}),
  /** Empty without `YARD_ISSUERS_FILE`. */
  reply: z.object({ issuers: z.array(z.url()) }),
  errors: {},
  timeoutMs: 2_000,
});

/** Called by services that serve requests of the gateway or receive its commands. */
export const verifyUserToken = rpc({
  subject: "yard.rpc.{caller}.policy.user-token.verify",
  summary:
    "Returns the user of a message that the gateway sent, when its user token was valid then.",
  request: z.strictObject({
    token: z.string().min(1).max(USER_TOKEN_MAX_LENGTH),
    /** The time at which a stream stored the message with it, in milliseconds since the Unix epoch; missing: now. */
    storedAt: z.int().positive().optional(),
  }),
  reply: UserIdentity.extend({ expiresAt: Timestamp }),
  errors: { invalid_token: { data: z.object({ reason: z.string() }) } },
  timeoutMs: 2_000,
});

export const UserKeyId = z
  .string()
  .regex(
    /^key-[0-9a-f]{16}$/,
    "must be an id such as key-0123456789abcdef, as user-keys.list shows",
  );

export const UserKey = z.object({
  id: UserKeyId,
  caller: CallerName,
  roles: UserRoles,
  scopes: UserScopes.optional(),
  note: z.string().nullable(),
  createdBy: CallerName,
  createdAt: Timestamp,
  /** Null: never. */
  expiresAt: Timestamp.nullable(),
  revokedAt: Timestamp.nullable(),
});
export type UserKey = z.infer<typeof UserKey>;

const ForbiddenAdmin = { data: z.object({ caller: z.string(), setting: z.string() }) } as const;
const UnknownKey = { data: z.object({ id: z.string() }) } as const;
const keyErrors = { forbidden_admin: ForbiddenAdmin, users_unavailable: UserStoreUnavailable };
/** `key` is shown here and never again; only its SHA-256 is stored. */
const NewKey = z.object({ key: z.string(), info: UserKey });
const YEARS_10 = 10 * 366 * 86_400;

export const createUserKey = rpc({
  subject: "yard.rpc.{caller}.policy.user-keys.create",
  summary: "Creates an API key for a person or program; for policy admins.",
  role: "admin",
  request: z.strictObject({
    caller: CallerName,
    roles: UserRoles,
    scopes: UserScopes.optional(),
    note: z.string().max(200).optional(),
    /** Missing: until it is revoked. */
    ttlSeconds: z.int().min(1).max(YEARS_10).optional(),
  }),
  reply: NewKey,
  errors: {
    ...keyErrors,
    /** The name is that of a service of the installation. */
    reserved_caller: { data: z.object({ caller: z.string() }) },
    too_many: { data: z.object({ limit: z.int() }) },
  },
});

export const listUserKeys = rpc({
  subject: "yard.rpc.{caller}.policy.user-keys.list",
  summary: "Lists the API keys without their secrets; for policy admins.",
  role: "admin",
  request: z.strictObject({}),
  reply: z.object({ keys: z.array(UserKey) }),
  errors: keyErrors,
});

export const rotateUserKey = rpc({
  subject: "yard.rpc.{caller}.policy.user-keys.rotate",
  summary: "Creates a key with the rights of another one, which ends after the overlap.",
  role: "admin",
  request: z.strictObject({
    id: UserKeyId,
    /** The time for which the old key remains valid, in seconds. */
    overlapSeconds: z
      .int()
      .min(0)
      .max(30 * 86_400)
      .default(3_600),
    /** The lifetime of the new key; missing: until it is revoked. */
    ttlSeconds: z.int().min(1).max(YEARS_10).optional(),
  }),
  reply: NewKey,
  errors: {
    ...keyErrors,
    unknown_key: UnknownKey,
    too_many: { data: z.object({ limit: z.int() }) },
  },
});

export const revokeUserKey = rpc({
  subject: "yard.rpc.{caller}.policy.user-keys.revoke",
  summary: "Ends an API key at once; for policy admins.",
  role: "admin",
  request: z.strictObject({ id: UserKeyId }),
  reply: z.object({ info: UserKey }),
  errors: { ...keyErrors, unknown_key: UnknownKey },
});

/** Gateways remove the key from their caches. One that misses the event does so when the user token ends. */
export const userKeyRevoked = event({
  subject: "yard.evt.user-key.{id}.revoked",
  summary: "An API key was revoked, or ends at `endsAt`.",
  payload: z.object({ id: UserKeyId, caller: CallerName, endsAt: Timestamp, by: CallerName }),
});

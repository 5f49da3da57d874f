import type { Handler } from "@switchyard/bus/handler";
import type { Service } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import { RUN_TOKEN_ISSUER } from "@switchyard/contracts/policy/run-token";
import {
  actForUser,
  createUserKey,
  issueUserToken,
  listIssuers,
  listUserKeys,
  revokeUserKey,
  rotateUserKey,
  USER_TOKEN_AUDIENCE,
  USER_TOKEN_SECONDS,
  verifyUserToken,
  type UserKey,
  type UserTokenClaims,
} from "@switchyard/contracts/policy/user-tokens";
import { RunTokenError } from "@switchyard/service/run-token";
import { StoreError } from "@switchyard/service/store-error";
import type { z } from "zod";
import { checkAdmin } from "../check-admin.ts";
import { BadCredential, isReserved, type SignIn } from "./sign-in.ts";
import { MAX_USER_KEYS, type UserKeyStore } from "./user-key-store.ts";

export interface UserParts {
  readonly signIn: SignIn;
  readonly keys: UserKeyStore;
  /** The addresses of the issuers whose tokens sign in. */
  readonly issuers: readonly string[];
  readonly sign: (claims: UserTokenClaims) => Promise<string>;
  readonly verify: (token: string, at?: number) => Promise<UserTokenClaims>;
  /** NATS users that may make and end keys. */
  readonly admins: readonly string[];
  readonly onRevoked: (
    key: UserKey,
    facts: { readonly endsAt: string; readonly by: string },
  ) => void;
  readonly now: () => number;
}

const fail = failuresOf({
  ...issueUserToken.errors,
  ...verifyUserToken.errors,
  ...actForUser.errors,
  ...createUserKey.errors,
  ...rotateUserKey.errors,
});

export function serveUsers(service: Service, parts: UserParts): void {
  service.handle(issueUserToken, ({ credential }) => orUnavailable(() => issue(parts, credential)));
  service.handle(listIssuers, () => ({ issuers: [...parts.issuers] }));
  service.handle(verifyUserToken, ({ token, storedAt }) => verifyUser(parts, token, storedAt));
  service.handle(actForUser, ({ user }) => actFor(parts, user));
  service.handle(createUserKey, createKey(parts));
  service.handle(listUserKeys, (_request, context) =>
    orUnavailable(async () => {
      checkAdmin(parts.admins, context);
      return { keys: await parts.keys.list() };
    }),
  );
  service.handle(rotateUserKey, rotateKey(parts));
  service.handle(revokeUserKey, revokeKey(parts));
}

/** Returns the user for whom the gateway sent a message with this token. */
export async function verifyUser(
  { verify }: Pick<UserParts, "verify">,
  token: string,
  storedAt?: number,
): Promise<z.output<typeof verifyUserToken.reply>> {
  try {
    const { sub: caller, roles, scopes, credential, exp } = await verify(token, storedAt);
    const expiresAt = new Date(exp * 1_000).toISOString();
    return { caller, roles, credential, expiresAt, ...(scopes && { scopes }) };
  } catch (error) {
    if (!(error instanceof RunTokenError)) throw error;
    throw fail.invalid_token(error.message, { reason: error.reason });
  }
}

async function issue({ signIn, sign, now }: UserParts, credential: string) {
  const { caller, roles, scopes, credential: name, expiresAt, session } = await signIn(credential);
  const iat = Math.floor(now() / 1_000);
  const longest = iat + USER_TOKEN_SECONDS;
  const exp = expiresAt === null ? longest : Math.min(longest, Math.ceil(expiresAt / 1_000));
  const identity = { roles, credential: name, ...(scopes && { scopes }) };
  const token = await sign({
    ...identity,
    iss: RUN_TOKEN_ISSUER,
    aud: USER_TOKEN_AUDIENCE,
    sub: caller,
    iat,
    exp,
  });
  return {
    token,
    caller,
    ...identity,
    expiresAt: new Date(exp * 1_000).toISOString(),
    ...(session !== undefined && { session }),
  };
}

/** Only the toolbox may publish to this subject. */
async function actFor({ sign, now }: UserParts, user: string) {
  if (isReserved(user))
    throw fail.reserved_caller(`${user} is the name of a service, and no user acts for one`, {
      caller: user,
    });
  const iat = Math.floor(now() / 1_000);
  const exp = iat + USER_TOKEN_SECONDS;
  const about = { iss: RUN_TOKEN_ISSUER, aud: USER_TOKEN_AUDIENCE, sub: user, iat, exp } as const;
  const token = await sign({ ...about, roles: ["operator"], credential: "toolbox" });
  return { token, expiresAt: new Date(exp * 1_000).toISOString() };
}

function createKey({ keys, admins, now }: UserParts): Handler<typeof createUserKey> {
  return ({ caller, roles, scopes, note = null, ttlSeconds }, context) =>
    orUnavailable(async () => {
      checkAdmin(admins, context);
      if (isReserved(caller))
        throw fail.reserved_caller(`${caller} is the name of a service; choose another one`, {
          caller,
        });
      const facts = { caller, roles, note, createdBy: context.caller, ...(scopes && { scopes }) };
      return orTooMany(await keys.create({ ...facts, ...timesOf(now(), ttlSeconds) }));
    });
}

function rotateKey(parts: UserParts): Handler<typeof rotateUserKey> {
  const { keys, admins, now } = parts;
  return ({ id, overlapSeconds, ttlSeconds }, context) =>
    orUnavailable(async () => {
      checkAdmin(admins, context);
      const { caller, roles, scopes, note } = await known(keys, id);
      const facts = { caller, roles, note, createdBy: context.caller, ...(scopes && { scopes }) };
      const made = orTooMany(await keys.create({ ...facts, ...timesOf(now(), ttlSeconds) }));
      await endKey(parts, id, { at: now() + overlapSeconds * 1_000, by: context.caller });
      return made;
    });
}

function revokeKey(parts: UserParts): Handler<typeof revokeUserKey> {
  return ({ id }, context) =>
    orUnavailable(async () => {
      checkAdmin(parts.admins, context);
      await known(parts.keys, id);
      return { info: await endKey(parts, id, { at: parts.now(), by: context.caller }) };
    });
}

async function endKey(
  { keys, onRevoked }: UserParts,
  id: string,
  { at, by }: { readonly at: number; readonly by: string },
): Promise<UserKey> {
  await keys.end(id, at);
  const ended = await known(keys, id);
  onRevoked(ended, { endsAt: ended.revokedAt ?? new Date(at).toISOString(), by });
  return ended;
}

async function known(keys: UserKeyStore, id: string): Promise<UserKey> {
  const found = await keys.read(id);
  if (found !== null) return found;
  throw fail.unknown_key(`there is no API key ${id}; user-keys.list shows them`, { id });
}

function timesOf(now: number, ttlSeconds: number | undefined) {
  const expiresAt =
    ttlSeconds === undefined ? null : new Date(now + ttlSeconds * 1_000).toISOString();
  return { createdAt: new Date(now).toISOString(), expiresAt };
}

function orTooMany<T>(made: T | null): T {
  if (made !== null) return made;
  throw fail.too_many(`there are ${MAX_USER_KEYS} API keys`, { limit: MAX_USER_KEYS });
}

/** Errors of credentials and of the store as those of the contracts. */
export async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BadCredential)
      throw fail.bad_credential(error.message, { reason: error.reason });
    if (!(error instanceof StoreError)) throw error;
    throw fail.users_unavailable(`${error.message}; try again`, { cause: error.name });
  }
}

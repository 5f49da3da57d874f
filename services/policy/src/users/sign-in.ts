import { createHash, timingSafeEqual } from "node:crypto";
import { USER_SESSION_PREFIX } from "@switchyard/contracts/policy/user-sessions";
import {
  UserKeyId,
  type UserIdentity,
  type UserKey,
} from "@switchyard/contracts/policy/user-tokens";
import { adminUser, auditorUser, operatorUser, serviceUsers } from "@switchyard/topology/topology";
import { KEY_PREFIX, type UserKeyStore } from "./user-key-store.ts";
import type { UserSessionStore } from "./user-session-store.ts";

/** An invalid credential. The message describes the problem, and shows no part of it. */
export class BadCredential extends Error {
  override readonly name = "BadCredential";
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface SignedIn extends UserIdentity {
  /** The time at which the credential expires, in milliseconds since the Unix epoch; null: it does not expire. */
  readonly expiresAt: number | null;
  /** The id of the session that was shown. */
  readonly session?: string | undefined;
}

/** Returns the user of a credential. Rejects with a BadCredential, or a StoreError when the credential cannot be checked now. */
export type SignIn = (credential: string) => Promise<SignedIn>;

/** The name of the credential of `yard dev`. */
export const LAPTOP = "laptop";
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

export function createSignIn(parts: {
  readonly keys: Pick<UserKeyStore, "find" | "read">;
  readonly sessions: Pick<UserSessionStore, "find">;
  /** Verifies JWTs; null where no issuer is configured. */
  readonly issuerToken: SignIn | null;
  /** The token of a laptop, null anywhere else. */
  readonly laptopToken: string | null;
  readonly now: () => number;
}): SignIn {
  const { keys, sessions, issuerToken, laptopToken, now } = parts;
  const ofSession = async (shown: string): Promise<SignedIn> => {
    const found = await sessions.find(shown);
    if (found === null || Date.parse(found.expiresAt) <= now())
      throw new BadCredential("ended", "this session has ended: sign in again");
    const { id, caller, roles, scopes, credential, openedWith } = found;
    // A session ends with the credential that opened it.
    if (credential === LAPTOP && (laptopToken === null || openedWith !== digestText(laptopToken)))
      throw new BadCredential("ended", "this session is of an earlier start: sign in again");
    if (UserKeyId.safeParse(credential).success) ofKey(await keys.read(credential), now());
    const expiresAt = Date.parse(found.expiresAt);
    return { caller, roles, credential, expiresAt, session: id, ...(scopes && { scopes }) };
  };
  const signedIn = async (credential: string): Promise<SignedIn> => {
    if (credential.startsWith(KEY_PREFIX)) return ofKey(await keys.find(credential), now());
    if (credential.startsWith(USER_SESSION_PREFIX)) return ofSession(credential);
    if (laptopToken !== null && isSame(credential, laptopToken))
      return { caller: "cli", roles: ["admin"], credential: LAPTOP, expiresAt: null };
    if (issuerToken !== null && JWT.test(credential)) return issuerToken(credential);
    throw new BadCredential(
      "unknown",
      "unknown credential: send an API key (yk_…) or a token of a configured issuer",
    );
  };
  return async (credential) => {
    const user = await signedIn(credential);
    checkCaller(user);
    return user;
  };
}

const RESERVED: ReadonlySet<string> = new Set(
  [...serviceUsers, adminUser, auditorUser, operatorUser].map(({ name }) => name),
);

/** True for the names of services, whose statements are trusted because of their name. */
export function isReserved(caller: string): boolean {
  return RESERVED.has(caller);
}

export function checkCaller({ caller, roles }: SignedIn): void {
  if (isReserved(caller))
    throw new BadCredential("reserved", `${caller} is the name of a service, which cannot sign in`);
  // The user `cli` sees and controls the runs of every user.
  if (caller === "cli" && !roles.includes("admin"))
    throw new BadCredential("reserved", "only an admin signs in as cli");
}

function ofKey(key: UserKey | null, now: number): SignedIn {
  if (key === null) throw new BadCredential("unknown", "this API key is not known here");
  const { id, caller, roles, scopes } = key;
  const ends = [key.expiresAt, key.revokedAt].flatMap((end) =>
    end === null ? [] : [Date.parse(end)],
  );
  const expiresAt = ends.length === 0 ? null : Math.min(...ends);
  if (expiresAt !== null && expiresAt <= now)
    throw new BadCredential("ended", `API key ${id} has ended: it expired or was revoked`);
  return { caller, roles, credential: id, expiresAt, ...(scopes && { scopes }) };
}

/** Compares in a time that does not depend on where the texts differ. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(digestOf(given), digestOf(expected));
}

/** Digests a credential, to recognise it later. */
export function digestText(text: string): string {
  return digestOf(text).toString("hex");
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

import { createHash, timingSafeEqual } from "node:crypto";
import type { UserIdentity, UserKey } from "@switchyard/contracts/user-tokens";
import { adminUser, auditorUser, operatorUser, serviceUsers } from "@switchyard/contracts/topology";
import { KEY_PREFIX, type UserKeyStore } from "./user-key-store.ts";

/** A credential that is not good. The message says what is wrong, and shows nothing of it. */
export class BadCredential extends Error {
  override readonly name = "BadCredential";
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface SignedIn extends UserIdentity {
  /** When the credential ends, in milliseconds since the Unix epoch; null: not by itself. */
  readonly expiresAt: number | null;
}

/** Tells who shows a credential. Rejects with a BadCredential, or a UserStoreError when that cannot be told now. */
export type SignIn = (credential: string) => Promise<SignedIn>;

const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

export function createSignIn(parts: {
  readonly keys: Pick<UserKeyStore, "find">;
  /** Verifies JWTs; null where no issuer is configured. */
  readonly issuerToken: SignIn | null;
  /** The token of a laptop, null anywhere else. */
  readonly laptopToken: string | null;
  readonly now: () => number;
}): SignIn {
  const { keys, issuerToken, laptopToken, now } = parts;
  const signedIn = async (credential: string): Promise<SignedIn> => {
    if (credential.startsWith(KEY_PREFIX)) return ofKey(await keys.find(credential), now());
    if (laptopToken !== null && isSame(credential, laptopToken))
      return { caller: "cli", roles: ["admin"], credential: "laptop", expiresAt: null };
    if (issuerToken !== null && JWT.test(credential)) return issuerToken(credential);
    throw new BadCredential(
      "unknown",
      "nobody knows this credential here: show an API key (yk_…) or a token of a configured issuer",
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

/** True for the names of services: what they say is believed for what they are. */
export function isReserved(caller: string): boolean {
  return RESERVED.has(caller);
}

function checkCaller({ caller, roles }: SignedIn): void {
  if (isReserved(caller))
    throw new BadCredential(
      "reserved",
      `${caller} is the name of a service, so nobody signs in as it`,
    );
  // It sees and controls the runs of everybody.
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

/** In a time that does not depend on where they differ. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(digestOf(given), digestOf(expected));
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

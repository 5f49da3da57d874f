import { stat } from "node:fs/promises";
import type { RunTokenClaims } from "@switchyard/contracts/policy/run-token";
import type { UserTokenClaims } from "@switchyard/contracts/policy/user-tokens";
import type { StopList } from "../stops/stop-list.ts";
import { createTextSigner, PublicJwk, type TextSigner } from "@switchyard/audit/audit-keys";
import type { Log } from "@switchyard/service/log";
import { startRounds } from "@switchyard/service/rounds";
import {
  createRunTokenSigner,
  createRunTokenVerifier,
  createTokenSigner,
  createTokenVerifier,
  keyIdOf,
  KnownRunTokens,
  RunTokenError,
  runTokenKeyId,
} from "@switchyard/service/run-token";
import { USER_TOKEN } from "@switchyard/service/user-token";
import { chooseSigner, type KeyUse, useOf } from "./choose-signer.ts";
import { readRunTokenKeys } from "./run-token-key.ts";

/** The current keys of run tokens, as in their file. A change of the file is applied without a restart. */
export interface KeyRing {
  /** Rejects an invalid token with a RunTokenError, and one that a revoked key has signed with the reason `revoked`. */
  readonly verify: (token: string) => Promise<RunTokenClaims>;
  /** Rejects with a RunTokenError (`revoked`) when every key was revoked. */
  readonly sign: (claims: RunTokenClaims) => Promise<string>;
  /** The same for user tokens; `at` is when the token had to be good, in milliseconds. */
  readonly verifyUser: (token: string, at?: number) => Promise<UserTokenClaims>;
  readonly signUser: (claims: UserTokenClaims) => Promise<string>;
  /** Signs a text of the audit with the key that signs tokens; null when every key was revoked. */
  readonly signText: (text: string) => { readonly kid: string; readonly signature: string } | null;
  readonly keys: readonly {
    readonly kid: string;
    readonly use: KeyUse;
    readonly revoked: boolean;
  }[];
  /** The public halves of all keys, including those that no longer sign. */
  readonly publicKeys: readonly PublicJwk[];
  stop(): void;
}

export interface KeyRingOptions {
  readonly file: string;
  /** A new key is only accepted for this time before it signs, so that every replica has read it. */
  readonly leadMs: number;
  /** The keys that an administrator revoked; checked at every use. */
  readonly stops: Pick<StopList, "isKeyStopped" | "isCurrent">;
  readonly log: Log;
  readonly now: () => number;
}

const LOOK_MS = 1_000;

/** Throws a StartError when the file holds no key. A later version of the file without a key changes nothing. */
export async function openKeyRing(options: KeyRingOptions): Promise<KeyRing> {
  const { file, log, stops } = options;
  const isRevoked = stops.isKeyStopped;
  let ring = await readRing(options);
  let refused: string | null = null;

  const look = async (): Promise<void> => {
    const stamp = await stampOf(file);
    if (stamp === ring.stamp || stamp === refused) return;
    refused = stamp;
    ring = await readRing(options);
    log.info({ keys: ring.kids }, "run token keys read again");
  };
  const rounds = startRounds({
    everyMs: LOOK_MS,
    round: look,
    onError: (err) =>
      log.error({ err, keyFile: file }, "run token keys cannot be read, those of before stay"),
  });

  // Caches key ids only of verified tokens, whose headers differ only in the key's id.
  const kids = new Map<string, string | null>();
  const kidOf = (token: string): string | null => {
    const header = token.slice(0, token.indexOf("."));
    const known = kids.get(header);
    if (known !== undefined) return known;
    const kid = keyIdOf(token);
    kids.set(header, kid);
    return kid;
  };

  const chosen = (): number | null =>
    chooseSigner(ring.kids, { isRevoked, isLeadOver: isLeadOver(ring, options) });
  const checkKey = async (token: string): Promise<void> => {
    // Decisions are refused anyway while the stops are unknown, so the latest copy suffices here.
    const isKnown = options.stops.isCurrent();
    if (isKnown !== true) await isKnown;
    const kid = kidOf(token);
    if (kid !== null && isRevoked(kid)) throw revoked("the key that signed the token was");
  };
  const signerIn = <T>(signers: readonly T[]): T => {
    const index = chosen();
    const sign = index === null ? undefined : signers[index];
    if (sign === undefined) throw revoked("every key of run tokens was");
    return sign;
  };
  return {
    async verify(token) {
      const claims = await ring.verify(token);
      await checkKey(token);
      return claims;
    },
    sign: async (claims) => signerIn(ring.signers)(claims),
    async verifyUser(token, at) {
      const claims = await ring.verifyUser(token, at);
      await checkKey(token);
      return claims;
    },
    signUser: async (claims) => signerIn(ring.userSigners)(claims),
    signText(text) {
      const index = chosen();
      const signer = index === null ? undefined : ring.textSigners[index];
      return signer === undefined ? null : { kid: signer.kid, signature: signer.sign(text) };
    },
    get keys() {
      const signing = chosen();
      return ring.kids.map((kid, index) => ({
        kid,
        use: useOf(index, signing),
        revoked: isRevoked(kid),
      }));
    },
    get publicKeys() {
      return ring.publicKeys;
    },
    stop: () => void rounds.stop(),
  };
}

interface Ring {
  /** The stamp of the file as it was read. */
  readonly stamp: string | null;
  readonly changedAt: number;
  readonly kids: readonly string[];
  readonly verify: (token: string) => Promise<RunTokenClaims>;
  readonly signers: readonly ((claims: RunTokenClaims) => Promise<string>)[];
  readonly verifyUser: (token: string, at?: number) => Promise<UserTokenClaims>;
  readonly userSigners: readonly ((claims: UserTokenClaims) => Promise<string>)[];
  readonly textSigners: readonly TextSigner[];
  /** The keys in the order of `kids`, followed by the retired ones. */
  readonly publicKeys: readonly PublicJwk[];
}

async function readRing({ file, log, now }: KeyRingOptions): Promise<Ring> {
  const stamp = await stampOf(file);
  const { keys, retired, isExposed, changedAt } = await readRunTokenKeys(file);
  if (isExposed) log.warn({ keyFile: file }, "run token key is open to other users, use mode 0600");
  const publicJwks = keys.map(({ publicJwk }) => publicJwk);
  const known = new KnownRunTokens();
  const privateJwks = keys.map(({ privateJwk }) => privateJwk);
  return {
    stamp,
    changedAt,
    kids: await Promise.all(publicJwks.map(runTokenKeyId)),
    verify: await createRunTokenVerifier(publicJwks, { now, known }),
    signers: await Promise.all(privateJwks.map((jwk) => createRunTokenSigner(jwk, { known }))),
    verifyUser: await createTokenVerifier(USER_TOKEN, publicJwks, { now }),
    userSigners: await Promise.all(privateJwks.map((jwk) => createTokenSigner(USER_TOKEN, jwk))),
    textSigners: privateJwks.map(createTextSigner),
    publicKeys: [...publicJwks.map((jwk) => PublicJwk.parse(JSON.parse(jwk))), ...retired],
  };
}

/** Returns a stamp that differs after each change, also when another file replaced it; null when there is none. */
async function stampOf(file: string): Promise<string | null> {
  try {
    const { ino, mtimeNs, size } = await stat(file, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch {
    return null;
  }
}

/** The file is as old as its newest key, or younger. */
function isLeadOver({ changedAt }: Ring, { now, leadMs }: KeyRingOptions): boolean {
  return now() >= changedAt + leadMs;
}

function revoked(what: string): RunTokenError {
  return new RunTokenError(
    "revoked",
    `${what} revoked: yard keys rotate makes a new key, and each run gets a token of it`,
  );
}

import type { Command, Rpc } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import { PromisedCache } from "@switchyard/contracts/promised-cache";
import { refusalOf, type UserRole } from "@switchyard/contracts/user-roles";
import { verifyUserToken } from "@switchyard/contracts/policy/user-tokens";
import type { z } from "zod";
import { call } from "./call.ts";
import type { Bus } from "./bus.ts";
import { connectionOf } from "./connection.ts";
import type { Delegation } from "./delegation.ts";

/** The sender of a message, as far as it could be verified. */
export interface VerifiedCaller {
  /** The NATS user that sent the message, or the user that the gateway sent it for. */
  readonly caller: string;
  /** The roles of the user that the gateway sent it for; a NATS user has none, its permissions decide what it may do. */
  readonly roles: readonly UserRole[];
}

type Verified = z.output<typeof verifyUserToken.reply>;

/** Resolves the user of a token. Rejects with a ServiceError. `storedAt` is that of a stored message, in milliseconds. */
export type VerifyUser = (token: string, storedAt?: number) => Promise<Verified>;

export interface Sender {
  /** The user token that came with the message. */
  readonly userToken: string | undefined;
  /** The caller in the message's subject, which the server's permissions guarantee. */
  readonly natsUser: string;
  readonly contract: Rpc | Command;
  /** Set for a message of a stream. */
  readonly storedAt?: number;
}

const KEPT = 10_000;

/** The caller of each message, as the policy service verifies the gateway's user tokens; each token is verified once. */
export class VerifiedCallers {
  readonly #verify: VerifyUser;
  readonly #delegation: Delegation;
  readonly #kept = new PromisedCache<Verified>({ now: Date.now, most: KEPT });

  constructor(verify: VerifyUser, delegation: Delegation) {
    this.#verify = verify;
    this.#delegation = delegation;
  }

  /**
   * Rejects with a ServiceError: `forbidden` for a token from any user but a speaker, for one that must name its user and has no valid one, and for a user
   * without the contract's role; `overloaded` when it cannot be verified now. Nothing was done then.
   */
  find({
    userToken: token,
    natsUser,
    contract,
    storedAt,
  }: Sender): VerifiedCaller | Promise<VerifiedCaller> {
    const { speakers, mustNameUser } = this.#delegation;
    if (token === undefined) {
      // A call without a role is one that the service makes for itself.
      if (natsUser !== mustNameUser || contract.role === null)
        return { caller: natsUser, roles: [] };
      throw forbidden(`${natsUser} must say in ${HEADERS.user} for whom it asks`);
    }
    if (!speakers.has(natsUser))
      throw forbidden(
        speakers.size === 0
          ? `this service accepts no ${HEADERS.user}: its bus was opened without a delegation`
          : `only ${[...speakers].join(" and ")} may send ${HEADERS.user}, and this is ${natsUser}`,
      );
    return this.#user(token, contract, storedAt);
  }

  async #user(token: string, contract: Rpc | Command, storedAt?: number): Promise<VerifiedCaller> {
    const user = await this.#verified(token, storedAt);
    const refusal = refusalOf(contract, user);
    if (refusal !== null) throw forbidden(refusal);
    return { caller: user.caller, roles: user.roles };
  }

  async #verified(token: string, storedAt: number | undefined): Promise<Verified> {
    const known = this.#kept.find(token, storedAt);
    if (known !== undefined) return known;
    try {
      const found = await this.#verify(token, storedAt);
      this.#kept.keep(token, found, Date.parse(found.expiresAt));
      return found;
    } catch (error) {
      throw unverified(error);
    }
  }
}

const callers = new WeakMap<Bus, VerifiedCallers>();

/** The verified callers of a bus, which calls the policy service; its permissions must allow that. */
export function verifiedCallersOf(bus: Bus): VerifiedCallers {
  const known = callers.get(bus);
  if (known !== undefined) return known;
  const made = new VerifiedCallers(
    (token, storedAt) =>
      call(bus, verifyUserToken, storedAt === undefined ? { token } : { token, storedAt }),
    connectionOf(bus).delegation,
  );
  callers.set(bus, made);
  return made;
}

function unverified(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { code, message } = error;
  if (code === "invalid_token") return forbidden(message);
  if (code === "forbidden") return forbidden(`who asks cannot be verified here: ${message}`);
  return new ServiceError(
    "overloaded",
    `who asks cannot be verified now, the policy service does not answer (${code}); try again`,
    { cause: error },
  );
}

function forbidden(why: string): ServiceError {
  return new ServiceError("forbidden", why, { data: { reason: "caller" } });
}

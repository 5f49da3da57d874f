import { call } from "@switchyard/bus/call";
import type { CallOptions } from "@switchyard/bus/call-options";
import type { Bus } from "@switchyard/bus/bus";
import type { Command, Rpc } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { refusalOf } from "@switchyard/contracts/user-roles";
import type { Context } from "hono";
import type { z } from "zod";
import type { GatewayEnv } from "./request-context.ts";
import type { User, UserCache } from "./user-cache.ts";

/** The sender of a request, for work that may outlast a user token: each call uses a fresh one. */
export interface Requester {
  readonly caller: string;
  /** The user of the request's credential at the time the request arrived. */
  readonly signedIn: User;
  /** The request's id in logs and in calls of services. */
  readonly requestId: string;
  /** Returns the current user of the credential. Rejects with the ServiceError `bad_credential` when the credential has ended. */
  user(): Promise<User>;
  /** True when role and scopes of the request's user allow it; the services check again. */
  may(contract: Rpc | Command): boolean;
  /** Calls a contract as the requester. Rejects with a ServiceError; `forbidden` when role or scopes do not allow it. */
  ask<R extends Rpc>(
    contract: R,
    request: z.input<R["request"]>,
    options?: CallOptions<R>,
  ): Promise<z.output<R["reply"]>>;
}

export function requesterOf(
  c: Context<GatewayEnv>,
  { bus, users }: { readonly bus: Bus; readonly users: UserCache },
): Requester {
  const first = c.get("user");
  const shown = c.get("credential");
  const requestId = c.get("requestId");
  const user = (): Promise<User> => users.identify(shown);
  return {
    caller: first.caller,
    signedIn: first,
    requestId,
    user,
    may: (contract) => refusalOf(contract, first) === null,
    async ask(contract, request, options) {
      const now = await user();
      checkRights(contract, now);
      const about = { userToken: now.token, correlationId: requestId };
      return call(bus, contract, request, { ...options, ...about });
    },
  };
}

/** Throws the ServiceError `forbidden` when the user's role or scopes do not allow the contract. */
export function checkRights(contract: Rpc | Command, user: User): void {
  const refusal = refusalOf(contract, user);
  if (refusal !== null) throw new ServiceError("forbidden", refusal);
}

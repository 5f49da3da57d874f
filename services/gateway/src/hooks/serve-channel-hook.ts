import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { AccountId, ChannelName } from "@switchyard/contracts/channels/channel-address";
import {
  MAX_PROVIDER_REQUEST,
  receiveChannelRequest,
  listChannelHooks,
} from "@switchyard/contracts/channels/channels";
import { isError } from "@switchyard/contracts/errors";
import type { Context } from "hono";
import { checkAddress, limitAddress, type AuthenticationParts } from "../identity/authenticate.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import { Problem } from "../problems/problem.ts";
import { readBytes } from "../routes/read-body.ts";

/** The limit in a minute, for one address at one account. */
const BAD_REQUESTS = 30;

/**
 * `POST /hooks/{channel}/{account}`: passes a provider's request to the channels service, whose adapter checks the signature
 * and answers. The body is read only for an account that accepts requests, from an address that was not refused too often.
 */
export function createChannelHookEndpoint(
  parts: AuthenticationParts & { readonly bus: Bus; readonly now: () => number },
): (c: Context<GatewayEnv>) => Promise<Response> {
  const takesRequests = createTakesRequests(parts.bus, parts.now);
  const refused = (c: Context<GatewayEnv>, what: string): Promise<void> =>
    limitAddress(c, parts, { what, limit: BAD_REQUESTS });
  return async (c) => {
    const channel = ChannelName.safeParse(c.req.param("channel"));
    const accountId = AccountId.safeParse(c.req.param("account"));
    const name = `${channel.data}/${accountId.data}`;
    if (!channel.success || !accountId.success || !(await takesRequests(name))) {
      await refused(c, "unknown hook");
      throw unknown();
    }
    checkAddress(c, parts, { what: `hook ${name}`, limit: BAD_REQUESTS });
    const body = await readBytes(c, MAX_PROVIDER_REQUEST);
    // The cookies are removed, since the adapter must not receive a browser's session.
    const { cookie: _, ...headers } = Object.fromEntries(c.req.raw.headers);
    try {
      const answer = await call(
        parts.bus,
        receiveChannelRequest,
        {
          channel: channel.data,
          accountId: accountId.data,
          headers,
          body: Buffer.from(body).toString("base64"),
        },
        { correlationId: c.get("requestId") },
      );
      if (answer.status === 401 || answer.status === 403) {
        await refused(c, `hook ${name}`);
        const { status } = answer;
        parts.access.refused(c, null, {
          operation: `POST /hooks/${name}`,
          status,
          code: "bad_signature",
        });
      }
      return new Response(answer.body, {
        status: answer.status,
        ...(answer.contentType !== null && { headers: { "content-type": answer.contentType } }),
      });
    } catch (error) {
      if (!isError(error, receiveChannelRequest, "unknown_account")) throw error;
      await refused(c, "unknown hook");
      throw unknown();
    }
  };
}

function unknown(): Problem {
  const detail = "no account of channels.json takes requests under this address";
  return new Problem({ status: 404, code: "unknown_hook", detail });
}

/**
 * Resolves with true when a channel's account, as `channel/accountId`, accepts requests of its provider. Rejects when the
 * channels service cannot be called.
 */
type TakesRequests = (account: string) => Promise<boolean>;

/**
 * A new account is noticed after this time, which is also the shortest interval between queries of the channels service for
 * unknown accounts.
 */
const QUERY_MS = 1_000;
/** An account that was removed may pass for this long; the channels service refuses its requests. */
const CACHED_MS = 30_000;

/**
 * Caches the list of the channels service, so that requests for unknown accounts cost it next to nothing. It is no `PromisedCache`, because
 * one reply answers for all accounts, and its lifetime depends on whether the account that is requested is in it.
 */
function createTakesRequests(bus: Bus, now: () => number): TakesRequests {
  let names: ReadonlySet<string> = new Set();
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;
  const ask = async (): Promise<void> => {
    const { accounts } = await call(bus, listChannelHooks, {});
    names = new Set(accounts.map(({ channel, accountId }) => `${channel}/${accountId}`));
    askedAt = now();
  };
  return async (account) => {
    const ageMs = now() - askedAt;
    const isOld = names.has(account) ? ageMs > CACHED_MS : ageMs > QUERY_MS;
    if (isOld) {
      asking ??= ask().finally(() => (asking = null));
      await asking;
    }
    return names.has(account);
  };
}

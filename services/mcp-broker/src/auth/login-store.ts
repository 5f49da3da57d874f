import { setTimeout as delay } from "node:timers/promises";
import { essentialWrite } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import { TokenKeyError, type TokenCipher } from "./token-cipher.ts";

/**
 * What is known of the login to one server. The shapes inside are the SDK's, which checks them
 * when they come from the network; here they come back from where it put them.
 */
export const Login = z.object({
  /** Names this login: a new one is another one. */
  grant: z.string().nullable().default(null),
  /** Where the browser was sent back to; the client is registered with it. */
  redirectUrl: z.string().nullable().default(null),
  client: z.record(z.string(), z.unknown()).nullable().default(null),
  tokens: z.record(z.string(), z.unknown()).nullable().default(null),
  /** Epoch milliseconds at which the access token ends; null when the server did not say. */
  expiresAt: z.number().nullable().default(null),
  discovery: z.record(z.string(), z.unknown()).nullable().default(null),
  /** Scopes that the server asked for and the login does not have. */
  wantedScope: z.string().nullable().default(null),
});
export type Login = z.infer<typeof Login>;

/** A login that was begun and whose browser has not come back yet. */
export const PendingLogin = z.object({
  server: z.string(),
  url: z.string(),
  codeVerifier: z.string(),
  login: Login,
});
export type PendingLogin = z.infer<typeof PendingLogin>;

export type LoginStore = ReturnType<typeof createLoginStore>;

/** Others are at work on a login and do not come to an end. The request was not carried out. */
export class LoginBusyError extends Error {
  override readonly name = "LoginBusyError";
  readonly code = "LOGIN_BUSY";
}

/** How long a person may take to log in. */
export const PENDING_MS = 10 * 60_000;
const LOCK_MS = 15_000;
/** What is left of the lock to keep what the work brought. */
const LOCK_MARGIN_MS = 3_000;
const LOCK_POLL_MS = 100;
/** Two that hold it as long as they can. */
const TURN_MS = 2 * LOCK_MS;

/** Only whoever holds the lock gives it back. */
const UNLOCK = `
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0`;

type Work<T> = (signal: AbortSignal) => Promise<T>;

/** Logins in Redis, encrypted. */
export function createLoginStore(redis: Redis, cipher: TokenCipher) {
  const read = <T>(key: string, text: string | null, schema: z.ZodType<T>) =>
    text === null ? null : schema.parse(JSON.parse(cipher.open(text, key)));
  const readable = (text: string | null, key: string): Login | null => {
    try {
      return read(key, text, Login);
    } catch (error) {
      if (error instanceof TokenKeyError) return null;
      throw error;
    }
  };
  /**
   * Runs work that no other broker does for this server at the same time; null when one does. The
   * signal ends before the right to be alone does.
   */
  const alone = async <T>(server: string, work: Work<T>): Promise<T | null> => {
    const key = `yard:{mcp}:login-lock:${server}`;
    const mark = crypto.randomUUID();
    if ((await fromRedis(redis.set(key, mark, "PX", LOCK_MS, "NX"))) !== "OK") return null;
    try {
      return await work(AbortSignal.timeout(LOCK_MS - LOCK_MARGIN_MS));
    } finally {
      await fromRedis(redis.eval(UNLOCK, 1, key, mark));
    }
  };
  /** As `alone`, after the others. Rejects with LoginBusyError when they do not come to an end. */
  const inTurn = async <T>(server: string, work: Work<T>): Promise<T> => {
    for (let waitedMs = 0; waitedMs <= TURN_MS; waitedMs += LOCK_POLL_MS) {
      const done = await alone(server, async (signal) => ({ value: await work(signal) }));
      if (done !== null) return done.value;
      await delay(LOCK_POLL_MS);
    }
    throw new LoginBusyError(
      `the login to ${server} is being renewed elsewhere for too long; try again`,
    );
  };
  return {
    async find(server: string): Promise<Login | null> {
      const key = loginKey(server);
      return read(key, await fromRedis(redis.get(key)), Login);
    },
    /** As `find`; null also when no key opens it any more, for who makes a new one. */
    async findReadable(server: string): Promise<Login | null> {
      const key = loginKey(server);
      return readable(await fromRedis(redis.get(key)), key);
    },
    async save(server: string, login: Login): Promise<void> {
      const key = loginKey(server);
      // A renewed login has spent the one before it at its provider.
      await essentialWrite(redis, ["set", key, cipher.seal(JSON.stringify(login), key)]);
    },
    /**
     * Reads and forgets, after a renewal under way, which would write it again. The login is null when
     * there is none, and when no key opens it any more.
     */
    async take(server: string): Promise<{ login: Login | null; wasLoggedIn: boolean }> {
      const key = loginKey(server);
      const takeNow = async () => {
        const text = await fromRedis(redis.getdel(key));
        return { login: readable(text, key), wasLoggedIn: text !== null };
      };
      try {
        return await inTurn(server, takeNow);
      } catch (error) {
        if (!(error instanceof LoginBusyError)) throw error;
        return takeNow(); // whoever logs out is not kept from it
      }
    },
    async savePending(state: string, pending: PendingLogin): Promise<void> {
      const key = pendingKey(state);
      const sealed = cipher.seal(JSON.stringify(pending), key);
      await fromRedis(redis.set(key, sealed, "PX", PENDING_MS));
    },
    /** Reads and forgets: a state is good for one return of the browser. */
    async takePending(state: string): Promise<PendingLogin | null> {
      const key = pendingKey(state);
      return read(key, await fromRedis(redis.getdel(key)), PendingLogin);
    },
    alone,
    inTurn,
  };
}

function loginKey(server: string): string {
  return `yard:{mcp}:login:${server}`;
}

function pendingKey(state: string): string {
  return `yard:{mcp}:login-pending:${state}`;
}

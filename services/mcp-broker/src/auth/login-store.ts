import { setTimeout as delay } from "node:timers/promises";
import { essentialWrite } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { releaseLock, takeLock } from "@switchyard/service/redis-lease";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import { TokenKeyError, type TokenCipher } from "./token-cipher.ts";

/**
 * The stored state of the login to one server. The SDK checks the inner shapes when they come from the network; here they are
 * read back as the SDK stored them.
 */
export const Login = z.object({
  /** Identifies this login: each new login has a new one. */
  grant: z.string().nullable().default(null),
  /** The address to which the browser was sent back; the client is registered with it. */
  redirectUrl: z.string().nullable().default(null),
  client: z.record(z.string(), z.unknown()).nullable().default(null),
  tokens: z.record(z.string(), z.unknown()).nullable().default(null),
  /** Epoch milliseconds at which the access token ends; null when the server gave no time. */
  expiresAt: z.number().nullable().default(null),
  discovery: z.record(z.string(), z.unknown()).nullable().default(null),
  /** Scopes that the server required and the login does not have. */
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

/** Other brokers are working on a login and do not finish in time. The request was not carried out. */
export class LoginBusyError extends Error {
  override readonly name = "LoginBusyError";
  readonly code = "LOGIN_BUSY";
}

/** The time within which a person has to log in. */
export const PENDING_MS = 10 * 60_000;
const LOCK_MS = 15_000;
/** The part of the lock's time that is reserved for storing the result. */
const LOCK_MARGIN_MS = 3_000;
const LOCK_POLL_MS = 100;
/** Covers two holders that use the lock for its full time. */
const TURN_MS = 2 * LOCK_MS;

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
   * Runs work while no other broker works on this server's login; null when another one does. The signal aborts before the lock
   * expires.
   */
  const alone = async <T>(server: string, work: Work<T>): Promise<T | null> => {
    const key = `yard:{mcp}:login-lock:${server}`;
    const holder = crypto.randomUUID();
    if (!(await takeLock(redis, key, { holder, forMs: LOCK_MS }))) return null;
    try {
      return await work(AbortSignal.timeout(LOCK_MS - LOCK_MARGIN_MS));
    } finally {
      await releaseLock(redis, key, holder);
    }
  };
  /** Like `alone`, but waits for the other brokers. Rejects with LoginBusyError when they do not finish in time. */
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
    /** Like `find`, but returns null also when no key decrypts the login, for callers that create a new one. */
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
     * Reads and deletes, after a renewal under way, which would store it again. The login is null when there is none, and when no
     * key decrypts it any more.
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
        return takeNow(); // an outage of the lock does not prevent a logout
      }
    },
    async savePending(state: string, pending: PendingLogin): Promise<void> {
      const key = pendingKey(state);
      const sealed = cipher.seal(JSON.stringify(pending), key);
      await fromRedis(redis.set(key, sealed, "PX", PENDING_MS));
    },
    /** Reads and deletes: a state is valid for one return of the browser. */
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

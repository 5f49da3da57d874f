import { createHash } from "node:crypto";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";

/** Stores the facts of a sign-in while its person is at the provider, for all replicas. */
export interface LoginStore {
  /** `browser` is the value of the cookie that the browser sends back, beside the state. */
  keep(login: { readonly state: string; readonly browser: string }, facts: Login): Promise<void>;
  /** Returns the facts once, and only to the same browser; null otherwise. */
  take(login: { readonly state: string; readonly browser: string }): Promise<Login | null>;
}

const Login = z.object({ nonce: z.string(), codeVerifier: z.string(), returnTo: z.string() });
export type Login = z.infer<typeof Login>;

/** The time that a person has to sign in at the provider. */
export const LOGIN_MS = 10 * 60_000;

export function createLoginStore(redis: Redis): LoginStore {
  return {
    async keep(login, facts) {
      await fromRedis(redis.set(keyOf(login), JSON.stringify(facts), "PX", LOGIN_MS));
    },
    async take(login) {
      const text = await fromRedis(redis.getdel(keyOf(login)));
      return text === null ? null : Login.parse(JSON.parse(text));
    },
  };
}

function keyOf({ state, browser }: { readonly state: string; readonly browser: string }): string {
  return `yard:gateway:login:${createHash("sha256").update(`${state}\n${browser}`).digest("hex")}`;
}

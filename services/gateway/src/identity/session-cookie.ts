import { createHash, timingSafeEqual } from "node:crypto";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { Problem } from "../problems/problem.ts";
import type { GatewayEnv } from "./request-context.ts";

/** Returns the gateway's own address: the configured public one, else that of the request. */
export function addressOf(c: Context<GatewayEnv>, publicUrl: URL | null): URL {
  return publicUrl ?? new URL("/", c.req.url);
}

/** A cookie of the gateway. Over TLS no other name of the same site can set it, https://www.rfc-editor.org/rfc/rfc6265bis. */
export class GatewayCookie {
  readonly #name: string;
  readonly #publicUrl: URL | null;
  readonly #sameSite: "Strict" | "Lax";
  readonly #begins: string;

  /** `begins` is the prefix of valid values. Any other value is ignored. */
  constructor(
    name: string,
    publicUrl: URL | null,
    {
      sameSite = "Strict",
      begins = "",
    }: { readonly sameSite?: "Strict" | "Lax"; readonly begins?: string } = {},
  ) {
    this.#name = name;
    this.#publicUrl = publicUrl;
    this.#sameSite = sameSite;
    this.#begins = begins;
  }

  get(c: Context<GatewayEnv>): string | undefined {
    const { name, prefix } = this.#form(c);
    const value = getCookie(c, name, prefix);
    return value?.startsWith(this.#begins) === true ? value : undefined;
  }

  set(c: Context<GatewayEnv>, value: string, expires: Date): void {
    const { name, options } = this.#form(c);
    setCookie(c, name, value, { ...options, expires });
  }

  remove(c: Context<GatewayEnv>): void {
    const { name, options } = this.#form(c);
    deleteCookie(c, name, options);
  }

  #form(c: Context<GatewayEnv>) {
    const { protocol, port } = addressOf(c, this.#publicUrl);
    const secure = protocol === "https:";
    const prefix = secure ? ("host" as const) : undefined;
    // Programs on one machine share the cookies of its name, whatever their ports are.
    const name = secure || port === "" ? this.#name : `${this.#name}-${port}`;
    const options = {
      path: "/",
      httpOnly: true,
      secure,
      sameSite: this.#sameSite,
      ...(prefix && { prefix }),
    };
    return { name, prefix, options };
  }
}

/**
 * Returns the token that a page of the gateway sends with each change: a page of another origin cannot read answers, and
 * therefore does not have it.
 */
export function csrfTokenOf(session: string): string {
  return createHash("sha256").update(`csrf\n${session}`).digest("base64url");
}

/** Throws a Problem for a change that a page of another origin may have sent with the browser's cookie. */
export function checkCsrf(c: Context<GatewayEnv>, session: string, publicUrl: URL | null): void {
  if (c.req.method === "GET" || c.req.method === "HEAD") return;
  const origin = c.req.header("origin");
  const isOwn = origin === undefined || origin === addressOf(c, publicUrl).origin;
  if (isOwn && isSame(c.req.header("x-csrf-token") ?? "", csrfTokenOf(session))) return;
  const detail =
    "a change by cookie needs the csrfToken of GET /auth/session in the header X-CSRF-Token, from a page of this origin";
  throw new Problem({ status: 403, code: "csrf", detail });
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

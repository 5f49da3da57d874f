import { randomBytes, createHash } from "node:crypto";
import { ServiceError } from "@switchyard/contracts/errors";
import type { Context, Hono } from "hono";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import {
  bearerOf,
  countingGuesses,
  identify,
  limitAddress,
  unauthenticated,
  type AuthenticationParts,
} from "../identity/authenticate.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import { addressOf, checkCsrf, csrfTokenOf, GatewayCookie } from "../identity/session-cookie.ts";
import type { User } from "../identity/user-cache.ts";
import { Problem, problemOf } from "../problems/problem.ts";
import type { Oidc } from "./oidc.ts";

export interface SignInParts extends AuthenticationParts {
  /** Null when no provider is configured. */
  readonly oidc: Oidc | null;
  readonly logins: LoginStore;
  readonly now: () => number;
}

/** The limit of sign-ins of one address in a minute, started or finished; many people may share it. */
const SIGN_INS = 600;

/** `/auth/*`: a browser starts, reads and ends a session here. */
export function addSignIn(app: Hono<GatewayEnv>, parts: SignInParts): void {
  const loginCookie = new GatewayCookie("yard-login", parts.publicUrl, { sameSite: "Lax" });
  app.use("/auth/*", async (c, next) => {
    await limitAddress(c, parts, { what: "sign-in", limit: SIGN_INS });
    await next();
  });
  app.get("/auth/session", (c) => replySession(c, parts));
  app.post("/auth/session", (c) => openSession(c, parts));
  app.post("/auth/logout", (c) => logOut(c, parts));
  app.get("/auth/login", (c) => beginLogin(c, parts, loginCookie));
  app.get("/auth/callback", async (c) => {
    try {
      return await finishLogin(c, parts, loginCookie);
    } catch (error) {
      const problem = problemOf(error);
      if (problem === null) throw error;
      const page = { title: "Not signed in", text: problem.message, goesOn: false };
      return c.html(
        signInPage({ ...page, href: "/auth/login", link: "Sign in again" }),
        problem.status as 401, // The table's statuses all have a body.
      );
    }
  });
}

async function replySession(c: Context<GatewayEnv>, parts: SignInParts): Promise<Response> {
  const { users, sessionCookie } = parts;
  const shown = bearerOf(c);
  const credential = shown ?? sessionCookie.get(c);
  if (credential === undefined) return c.json(sessionOf(null, null, parts));
  try {
    const isBearer = shown !== undefined;
    const user = await countingGuesses(c, parts, () => identify(users, credential, isBearer));
    return c.json(sessionOf(user, shown === undefined ? credential : null, parts));
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 401) throw error;
    if (shown === undefined) sessionCookie.remove(c);
    return c.json(sessionOf(null, null, parts));
  }
}

async function openSession(c: Context<GatewayEnv>, parts: SignInParts): Promise<Response> {
  const credential = bearerOf(c);
  if (credential === undefined)
    throw unauthenticated("a session is opened with a credential in the header Authorization");
  const { key, user } = await signInWith(c, parts, { credential });
  return c.json(sessionOf(user, key, parts), 201);
}

async function logOut(c: Context<GatewayEnv>, parts: SignInParts): Promise<Response> {
  const { users, oidc, sessionCookie, publicUrl } = parts;
  const session = sessionCookie.get(c);
  if (session === undefined) return c.json({ next: null });
  checkCsrf(c, session, publicUrl);
  const user = await users.identify(session).catch(() => null);
  await users.closeSession(session);
  sessionCookie.remove(c);
  if (user !== null) await parts.access.signedOut(c, user);
  const isOfProvider = user?.credential.startsWith("oidc:") === true;
  const next = isOfProvider
    ? await oidc?.endUrl(addressOf(c, publicUrl).href).catch(() => null)
    : null;
  return c.json({ next: next?.href ?? null });
}

async function beginLogin(
  c: Context<GatewayEnv>,
  { oidc, logins, publicUrl, now }: SignInParts,
  loginCookie: GatewayCookie,
): Promise<Response> {
  if (oidc === null) {
    const detail = "no provider of sign-ins is configured here (YARD_OIDC_ISSUER)";
    throw new Problem({ status: 404, code: "not_found", detail });
  }
  const { url, asked } = await oidc.begin(new URL("/auth/callback", addressOf(c, publicUrl)).href);
  const { state, nonce, codeVerifier } = asked;
  const browser = randomBytes(32).toString("base64url");
  const returnTo = returnPath(c.req.query("returnTo"));
  await logins.keep({ state, browser }, { nonce, codeVerifier, returnTo });
  loginCookie.set(c, browser, new Date(now() + LOGIN_MS));
  return c.redirect(url.href, 302);
}

/** The provider's answer is accepted once, in the browser that started the sign-in. */
async function finishLogin(
  c: Context<GatewayEnv>,
  parts: SignInParts,
  loginCookie: GatewayCookie,
): Promise<Response> {
  const { oidc, logins, publicUrl } = parts;
  const [state, browser] = [c.req.query("state"), loginCookie.get(c)];
  const login =
    state === undefined || browser === undefined ? null : await logins.take({ state, browser });
  loginCookie.remove(c);
  if (oidc === null || login === null || state === undefined) {
    const detail = "this sign-in was not begun in this browser, has ended, or took too long";
    throw new Problem({ status: 400, code: "sign_in_unknown", detail });
  }
  const { nonce, codeVerifier, returnTo } = login;
  const callback = new URL("/auth/callback", addressOf(c, publicUrl));
  callback.search = new URL(c.req.url).search;
  const credential = await oidc.finish(callback, { state, nonce, codeVerifier });
  await signInWith(c, parts, { credential, nonce });
  const page = { title: "Signed in", text: "You are signed in.", link: "Continue", goesOn: true };
  return c.html(signInPage({ ...page, href: returnTo }));
}

/** Opens a session and sets its cookie in the browser. */
async function signInWith(
  c: Context<GatewayEnv>,
  parts: SignInParts,
  shown: { readonly credential: string; readonly nonce?: string },
): Promise<{ key: string; user: SessionUser }> {
  const { users, sessionCookie, access } = parts;
  const { key, info } = await countingGuesses(c, parts, () => users.openSession(shown));
  try {
    await access.signedIn(c, info, `${c.req.method} ${c.req.path}`);
  } catch (error) {
    await users.closeSession(key);
    throw error;
  }
  const before = sessionCookie.get(c);
  if (before !== undefined)
    await users.closeSession(before).catch((error: unknown) => {
      if (!(error instanceof ServiceError)) throw error;
    });
  sessionCookie.set(c, key, new Date(info.expiresAt));
  return { key, user: info };
}

type SessionUser = Pick<User, "caller" | "roles" | "scopes" | "credential" | "expiresAt">;

function sessionOf(user: SessionUser | null, session: string | null, { oidc }: SignInParts) {
  const { caller, roles, scopes, credential } = user ?? {};
  return {
    user: user === null ? null : { caller, roles, ...(scopes && { scopes }), credential },
    csrfToken: session === null ? null : csrfTokenOf(session),
    signIn: oidc === null ? ["token"] : ["oidc", "token"],
  };
}

const BASE = "http://gateway.invalid";

/** Returns the path of this gateway that a person goes to after signing in; `/` for any path that leads elsewhere. */
export function returnPath(given: string | undefined): string {
  if (given === undefined || !given.startsWith("/") || given.length > 2_000) return "/";
  const url = URL.parse(given, BASE);
  if (url === null || url.origin !== BASE) return "/";
  const path = `${url.pathname}${url.search}${url.hash}`;
  // Parsing turns `/.//host` into `//host`, which is another host.
  return path.startsWith("//") ? "/" : path;
}

/** Renders a page for a person on the way to or from the provider; it has no script, no style and no external content. */
export function signInPage(page: {
  readonly title: string;
  readonly text: string;
  readonly href: string;
  readonly link: string;
  /** The page continues without a click. A redirect would count as one of the provider, with which no strict cookie is sent. */
  readonly goesOn: boolean;
}): string {
  const { title, text, href, link, goesOn } = page;
  const refresh = goesOn ? `<meta http-equiv="refresh" content="0;url=${escaped(href)}">` : "";
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title>${refresh}</head>
<body><h1>${escaped(title)}</h1><p>${escaped(text)}</p><p><a href="${escaped(href)}">${escaped(link)}</a></p></body></html>
`;
}

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replaceAll(/[&<>"']/g, (character) => names[character] ?? "");
}

/** Stores the facts of a sign-in while its person is at the provider, for all replicas. */
interface LoginStore {
  /** `browser` is the value of the cookie that the browser sends back, beside the state. */
  keep(login: { readonly state: string; readonly browser: string }, facts: Login): Promise<void>;
  /** Returns the facts once, and only to the same browser; null otherwise. */
  take(login: { readonly state: string; readonly browser: string }): Promise<Login | null>;
}

const Login = z.object({ nonce: z.string(), codeVerifier: z.string(), returnTo: z.string() });
type Login = z.infer<typeof Login>;

/** The time that a person has to sign in at the provider. */
const LOGIN_MS = 10 * 60_000;

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

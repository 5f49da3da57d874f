import { createClient, type Operation, type Reply } from "@switchyard/client/client";
import { ProblemError, problemOfResponse, type Problem } from "@switchyard/client/problem-error";
import { signal } from "@preact/signals";

type Me = Reply<"GET /me">;

export type SessionState =
  | { readonly phase: "checking" }
  | {
      readonly phase: "signed-out";
      /** `token`, `oidc`: how the gateway lets people sign in. */
      readonly ways: readonly string[];
      readonly problem: Problem | null;
    }
  | { readonly phase: "signed-in"; readonly me: Me };

/** State of the person's sign-in. */
export const session = signal<SessionState>({ phase: "checking" });

/** Reply of `GET /auth/session`. */
interface AuthSession {
  readonly user: { readonly credential: string } | null;
  /** Null while no person is signed in. */
  readonly csrfToken: string | null;
  readonly signIn: readonly string[];
}

let csrfToken = "";
let ways: readonly string[] = ["token"];

/** Queries the gateway that served the page, as the session of the browser's cookie. */
export const client = createClient({
  baseUrl: "",
  async fetch(url, init) {
    const headers = new Headers(init.headers);
    const changes = init.method !== undefined && init.method !== "GET";
    if (changes) headers.set("x-csrf-token", csrfToken);
    const response = await fetch(url, { ...init, headers, credentials: "same-origin" });
    if (response.status === 401) endSession();
    return response;
  },
});

/** True when the gateway permits the credential the operation; other operations are not shown. */
export function may(operation: Operation): boolean {
  const state = session.value;
  return state.phase === "signed-in" && state.me.may.includes(operation);
}

/** The caller of the credential; empty while no person is signed in. */
export function callerName(): string {
  const state = session.value;
  return state.phase === "signed-in" ? state.me.caller : "";
}

/** The prefix of the tokens with which `yard dev` signs in the person of a laptop. */
const LAPTOP_TOKEN = "yd_";
/** The credential of a session that was opened with such a token. */
const LAPTOP_CREDENTIAL = "laptop";

/**
 * Opens the session at the start: with the cookie from before, else with the token in the address, which is removed from it. Any
 * person can send a link with their own credential; so only the token of `yard dev` is accepted without a prompt, and only while no
 * person is signed in.
 */
export async function openSession(
  isWanted: (signedInAs: string) => Promise<boolean>,
): Promise<void> {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null) history.replaceState(null, "", `${location.pathname}${location.search}`);
  const resumed = await resumeSession();
  if (token === null) return;
  const isOfLaptop = token.startsWith(LAPTOP_TOKEN);
  if (isOfLaptop && resumed?.user?.credential === LAPTOP_CREDENTIAL) return;
  const isUnasked = isOfLaptop && resumed?.user === null;
  if (isUnasked || (await isWanted(callerName()))) await signIn(token);
}

/** Exchanges a credential for a session of the browser; a failure is stored in `session`. */
export async function signIn(credential: string): Promise<void> {
  await enter(() =>
    auth("/auth/session", {
      method: "POST",
      headers: { authorization: `Bearer ${credential}` },
    }),
  );
}

export async function signOut(): Promise<void> {
  const answer = await fetch("/auth/logout", {
    method: "POST",
    headers: { "x-csrf-token": csrfToken },
  }).catch(() => null);
  const body = ((await answer?.json().catch(() => null)) ?? {}) as { next?: string | null };
  if (typeof body.next === "string") location.assign(body.next);
  session.value = { phase: "signed-out", ways, problem: null };
}

function resumeSession(): Promise<AuthSession | null> {
  return enter(() => auth("/auth/session", {}));
}

/** Null when the sign-in state is unknown. */
async function enter(ask: () => Promise<AuthSession>): Promise<AuthSession | null> {
  try {
    const answer = await ask();
    csrfToken = answer.csrfToken ?? "";
    ways = answer.signIn;
    session.value =
      answer.user === null
        ? { phase: "signed-out", ways, problem: null }
        : { phase: "signed-in", me: await client.request("GET /me") };
    return answer;
  } catch (error) {
    session.value = { phase: "signed-out", ways, problem: problemOf(error) };
    return null;
  }
}

async function auth(path: string, init: RequestInit): Promise<AuthSession> {
  const response = await fetch(path, { ...init, credentials: "same-origin" });
  if (response.ok) return (await response.json()) as AuthSession;
  throw await problemOfResponse(response);
}

function endSession(): void {
  if (session.value.phase !== "signed-in") return;
  const detail = "Your session has ended. Sign in again to continue where you were.";
  const problem = { status: 401, code: "unauthenticated", detail, requestId: "" };
  session.value = { phase: "signed-out", ways, problem };
}

/** Anything that went wrong, as a problem to show. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  const detail = error instanceof Error ? error.message : String(error);
  return { status: 0, code: "console_fault", detail, requestId: "" };
}

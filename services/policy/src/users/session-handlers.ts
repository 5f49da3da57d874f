import { isAdmin } from "@switchyard/contracts/user-roles";
import type { Service } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  closeUserSession,
  listUserSessions,
  openUserSession,
  revokeUserSession,
  USER_SESSION_PREFIX,
  type UserSession,
} from "@switchyard/contracts/policy/user-sessions";
import { checkAdmin } from "../check-admin.ts";
import type { IssuerTokens } from "./issuer-tokens.ts";
import { BadCredential, checkCaller, digestText, LAPTOP, type SignIn } from "./sign-in.ts";
import { orUnavailable } from "./user-handlers.ts";
import { publicSession, type UserSessionStore } from "./user-session-store.ts";

export interface SessionParts {
  readonly signIn: SignIn;
  /** Null when no issuer is configured. */
  readonly idToken: IssuerTokens["idToken"] | null;
  readonly sessions: UserSessionStore;
  /** NATS users that may list and end all sessions. */
  readonly admins: readonly string[];
  readonly lifetimeMs: number;
  readonly onEnded: (session: UserSession, by: string) => void;
  readonly now: () => number;
}

const fail = failuresOf(revokeUserSession.errors);

export function serveUserSessions(service: Service, parts: SessionParts): void {
  const { sessions, admins, onEnded } = parts;
  service.handle(openUserSession, ({ credential, nonce }) =>
    orUnavailable(() => open(parts, credential, nonce)),
  );
  service.handle(closeUserSession, ({ key }) =>
    orUnavailable(async () => {
      const found = await sessions.find(key);
      if (found === null) return {};
      await sessions.end(found);
      onEnded(publicSession(found), found.caller);
      return {};
    }),
  );
  service.handle(listUserSessions, ({ user }, context) =>
    orUnavailable(async () => {
      if (user !== undefined && user !== context.caller) checkAdmin(admins, context);
      return { sessions: await sessions.list(user ?? context.caller) };
    }),
  );
  service.handle(revokeUserSession, ({ id }, { caller, roles }) =>
    orUnavailable(async () => {
      const found = await sessions.read(id);
      if (found === null || (found.caller !== caller && !isAdmin(admins, { caller, roles })))
        throw fail.unknown_session(`you have no session ${id}; user-session.list shows them`, {
          id,
        });
      await sessions.end(found);
      const info = publicSession(found);
      onEnded(info, caller);
      return { info };
    }),
  );
}

async function open(
  { signIn, idToken, sessions, lifetimeMs, now }: SessionParts,
  shown: string,
  nonce: string | undefined,
) {
  if (shown.startsWith(USER_SESSION_PREFIX))
    throw new BadCredential("session", "a session cannot be opened with another one");
  if (nonce !== undefined && idToken === null)
    throw new BadCredential("issuer", "no issuer is configured here");
  const user =
    nonce === undefined || idToken === null ? await signIn(shown) : await idToken(shown, nonce);
  if (nonce !== undefined) checkCaller(user);
  const { caller, roles, scopes, credential } = user;
  const longest = now() + lifetimeMs;
  // An ID token is valid for a minute after the sign-in, which does not limit the session; any other credential ends its sessions
  // when it expires.
  const end =
    nonce !== undefined || user.expiresAt === null ? longest : Math.min(longest, user.expiresAt);
  return sessions.open({
    caller,
    roles,
    credential,
    ...(scopes && { scopes }),
    openedAt: new Date(now()).toISOString(),
    expiresAt: new Date(end).toISOString(),
    openedWith: credential === LAPTOP ? digestText(shown) : null,
  });
}

import { z } from "zod";
import { event, rpc } from "../define.ts";
import { CallerName, Timestamp } from "../ids.ts";
import {
  Credential,
  signInErrors,
  UserIdentity,
  UserSessionId,
  UserStoreUnavailable,
} from "./user-tokens.ts";

/** The prefix of a session's key. It is accepted as a cookie alone, and no other credential is. */
export const USER_SESSION_PREFIX = "ys_";

/** A browser that signed in. */
export const UserSession = UserIdentity.extend({
  id: UserSessionId,
  openedAt: Timestamp,
  expiresAt: Timestamp,
});
export type UserSession = z.infer<typeof UserSession>;

/** Only the gateway may call it. A session is a credential for `issueUserToken` itself. */
export const openUserSession = rpc({
  subject: "yard.rpc.{caller}.policy.user-session.open",
  summary: "Opens a browser's session for who shows a credential or has just signed in by OIDC.",
  request: z.strictObject({
    credential: Credential,
    /** Set when the credential is an ID token that was requested with this nonce; such a token opens a session and nothing else. */
    nonce: z.string().min(16).max(200).optional(),
  }),
  /** `key` is shown here and never again; only its SHA-256 is stored. */
  reply: z.object({ key: z.string(), info: UserSession }),
  errors: signInErrors,
});

/** Only the gateway may call it, with the session that the browser presented. */
export const closeUserSession = rpc({
  subject: "yard.rpc.{caller}.policy.user-session.close",
  summary: "Ends a browser's session at once. One that is not known has ended.",
  request: z.strictObject({ key: Credential }),
  reply: z.object({}),
  errors: { users_unavailable: UserStoreUnavailable },
});

export const listUserSessions = rpc({
  subject: "yard.rpc.{caller}.policy.user-session.list",
  summary: "Lists the caller's browser sessions; for policy admins those of any user.",
  role: "viewer",
  request: z.strictObject({
    /** Missing: the caller itself. */
    user: CallerName.optional(),
  }),
  reply: z.object({ sessions: z.array(UserSession) }),
  errors: {
    forbidden_admin: { data: z.object({ caller: z.string(), setting: z.string() }) },
    users_unavailable: UserStoreUnavailable,
  },
});

export const revokeUserSession = rpc({
  subject: "yard.rpc.{caller}.policy.user-session.revoke",
  summary: "Ends a browser session of the caller at once; for policy admins one of any user.",
  role: "viewer",
  request: z.strictObject({ id: UserSessionId }),
  reply: z.object({ info: UserSession }),
  errors: {
    users_unavailable: UserStoreUnavailable,
    /** It has ended, or belongs to another user. */
    unknown_session: { data: z.object({ id: z.string() }) },
  },
});

/** Gateways remove it from their caches. One that misses the event does so when the user token ends. */
export const userSessionEnded = event({
  subject: "yard.evt.user-session.{id}.ended",
  summary: "A session of a browser ended before its time.",
  payload: z.object({ id: UserSessionId, caller: CallerName, by: CallerName }),
});
